"""Questions in other languages over documents in them: found, quoted, and refused."""
# ruff: noqa: E501 -- a character of some scripts counts as two columns

from pathlib import Path

import pytest

import clew
from clew.base.types import Document

WRITTEN = Path(__file__).parents[2] / "benchmarks" / "languages"
TOPICS = {
    "ja": (
        [
            "東京タワーは東京都港区にある電波塔である。設計したのは内藤多仲である。1958年に完成した。",
            "大阪城は大阪市にある城である。豊臣秀吉が1583年に築城を始めた。石垣が有名である。",
            "琵琶湖は滋賀県にある湖である。面積は669平方キロメートルで、日本で最も大きい。",
            "青函トンネルは本州と北海道を結ぶ鉄道のトンネルである。長さは53キロメートルである。",
        ],
        [("東京タワーを設計したのは誰ですか?", "内藤多仲"), ("大阪城の築城はいつ始まりましたか?", "1583"),
         ("琵琶湖の面積はどのくらいですか?", "669")],
        ["鯨は何を食べますか?", "ピアノの弾き方を教えてください"],
    ),
    "zh": (
        [
            "赵州桥位于河北省赵县，是一座石拱桥。设计者是李春。它建于隋朝。",
            "黄鹤楼位于武汉市蛇山。现在的楼于1985年建成。它高51米。",
            "青海湖是中国最大的咸水湖。面积约4500平方公里。湖中有鸟岛。",
            "都江堰是四川的水利工程，由李冰主持修建。它至今仍在使用。",
        ],
        [("赵州桥的设计者是谁？", "李春"), ("黄鹤楼是哪一年建成的？", "1985"),
         ("青海湖的面积是多少？", "4500")],
        ["鲸鱼吃什么？", "怎么弹钢琴？"],
    ),
    "ru": (
        [
            "Ледокол «Ермак» был построен в Ньюкасле. Его создателем был адмирал Макаров.",
            "Озеро Байкал находится в Сибири. Его глубина достигает 1642 метров.",
            "Останкинская башня стоит в Москве. Её проектировал инженер Никитин. Высота 540 метров.",
            "Транссибирская магистраль соединяет Москву и Владивосток. Строительство начали в 1891 году.",
        ],
        [("Кто проектировал Останкинскую башню?", "Никитин"),
         ("В каком году начали строительство магистрали?", "1891"),
         ("Какова глубина озера Байкал?", "1642")],
        ["Чем питаются киты?", "Как научиться играть на пианино?"],
    ),
    "ko": (
        [
            "석굴암은 경주에 있는 석굴 사원이다. 김대성이 지었다.",
            "한라산은 제주도에 있는 산이다. 높이는 1947미터이다.",
            "경부고속도로는 서울과 부산을 잇는다. 1970년에 개통되었다.",
        ],
        [("석굴암은 누가 지었나?", "김대성"), ("한라산의 높이는 얼마인가?", "1947")],
        ["고래는 무엇을 먹는가?"],
    ),
    "ar": (
        [
            "برج القاهرة يقع في جزيرة الزمالك. صممه المهندس نعوم شبيب. ارتفاعه 187 مترا.",
            "السد العالي بني على نهر النيل قرب أسوان. اكتمل البناء سنة 1970.",
            "بحيرة طبريا تقع في شمال البلاد ومياهها عذبة.",
        ],
        [("من صمم برج القاهرة؟", "نعوم"), ("متى اكتمل بناء السد العالي؟", "1970")],
        ["ماذا تأكل الحيتان؟"],
    ),
    "hi": (
        [
            "हावड़ा पुल कोलकाता में हुगली नदी पर है। यह 1943 में खोला गया।",
            "चारमीनार हैदराबाद में है। इसे कुली कुतुब शाह ने बनवाया।",
            "चिल्का झील ओडिशा में है। वहाँ बहुत पक्षी आते हैं।",
        ],
        [("चारमीनार किसने बनवाया?", "कुतुब"), ("हावड़ा पुल कब खोला गया?", "1943")],
        ["व्हेल क्या खाती है?"],
    ),
    "th": (
        [
            "สะพานพุทธอยู่ในกรุงเทพมหานคร เปิดใช้ใน พ.ศ. 2475",
            "เขื่อนภูมิพลอยู่ในจังหวัดตาก สูง 154 เมตร",
            "ดอยอินทนนท์อยู่ในจังหวัดเชียงใหม่ เป็นภูเขาที่สูงที่สุดของไทย",
        ],
        [("เขื่อนภูมิพลสูงเท่าไร", "154"), ("สะพานพุทธเปิดใช้เมื่อใด", "2475")],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", TOPICS)
def test_what_is_asked_in_a_language_is_quoted_and_the_rest_refused(language, tmp_path):
    texts, answered, foreign = TOPICS[language]
    with clew.open(tmp_path / "x.clew") as index:
        index.add([Document(id=f"d{i}", text=text) for i, text in enumerate(texts)])
        for question, expected in answered:
            answer = index.ask(question, quotes=5)
            assert expected in answer.evidence.hits[0].text, question
            assert answer.kind == "quoted", question
            assert any(expected in each.quote for each in answer.citations), question
        for question in foreign:
            assert index.ask(question).kind == "refused", question


@pytest.mark.parametrize("language", ["Italian", "Thai"])
def test_common_letters_and_joining_words_alone_answer_nothing(language, tmp_path):
    lines = (WRITTEN / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    foreign = [row[1] for row in rows if row[0] == "none"]
    with clew.open(tmp_path / "x.clew") as index:
        texts = [row[1] for row in rows if row[0] == "text"]
        index.add([Document(id=f"{i:02}", text=text) for i, text in enumerate(texts)])
        assert [index.ask(question).kind for question in foreign] == ["refused"] * 5


def test_a_korean_question_finds_a_word_with_another_particle(tmp_path):
    with clew.open(tmp_path / "x.clew") as index:
        index.add(
            [
                Document(id="a", text="호수의 깊이는 30미터이다."),
                Document(id="b", text="산이 높다."),
            ]
        )
        [first, *_] = index.search("호수는 어디에 있나요?", method="bm25").hits
        assert first.document_id == "a"
