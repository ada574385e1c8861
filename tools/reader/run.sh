#!/bin/sh
# Train both readers and measure them beside Clew's own choice: docs/results/reader.md.
#
#   tools/reader/run.sh PYTHON SOURCE MANUALS DATA INTO
#
# PYTHON has torch, safetensors, tokenizers and ctranslate2; the other Python is `python`, which has
# Clew and scipy. SOURCE is the file of examples that `examples.py` reads, MANUALS a folder of folders
# of manuals, DATA a folder of data sets with an index of each as INTO/idx/NAME, and of one named
# 2wiki_train, which has the questions of SOURCE. INTO/base has the published weights of MiniLM.
# INTO/without.txt may have titles, a line each, about which no question is generated, and
# INTO/only-NAME.txt the ids of the questions of a data set that are used.
set -e
torch=$1 source=$2 manuals=$3 data=$4 into=$5
here=$(dirname "$0")
export OMP_NUM_THREADS=1
fitted="2wiki_train hotpotqa_train100 pages musique_train100"
unseen="2wiki_rkendev500 musique_ketrag500"
touch "$into/without.txt"
python "$here/chains.py" "$source" --into "$into/chains.jsonl" --without "$into/without.txt"
python "$here/manuals.py" "$manuals" --into "$into/manuals.jsonl"
for name in 2wiki_train hotpotqa_train100 musique_train100 $unseen; do
	only=""
	test -f "$into/only-$name.txt" && only="--only $into/only-$name.txt"
	# shellcheck disable=SC2086
	python "$here/cases.py" "$data/$name" --indexes "$into/idx" --into "$into/cases" --last --parts $only
done
python "$here/cases.py" pages --indexes "$into/idx" --into "$into/cases"

# measure READER WINDOW STATEMENTS BRIDGES FEATURES: print the tables of an exported reader
measure() {
	python "$here/blend.py" score "$into"/cases/*.pkl --reader "$into/$1" --base "$into/base" \
		--into "$into/$1/scores" --window "$2" --statements "$3" --bridges "$4"
	# shellcheck disable=SC2086
	python "$here/blend.py" compare --cases "$into/cases" --scores "$into/$1/scores" \
		--models "$into/models.pkl" --statements "$3" --bridges "$4" --features $5 \
		--train $fitted --test $unseen
}
# export_reader TRAINED READER: once, since a training goes on from its last checkpoint
export_reader() {
	test -f "$into/$2/model.bin" || "$torch" "$here/export.py" "$into/$1/checkpoint.pt" \
		--base "$into/base" --into "$into/$2"
}

# The first one: six layers.
python "$here/examples.py" "$source" --into "$into/first.jsonl"
python "$here/examples.py" "$source" "$into/chains.jsonl" "$into/manuals.jsonl" \
	--into "$into/second.jsonl" --seed 1 --share 0.4 --chains 750
"$torch" "$here/train.py" "$into/first.jsonl" --base "$into/base" --into "$into/six" --steps 2400 --until 300
"$torch" "$here/train.py" "$into/second.jsonl" --base "$into/base" --into "$into/six" --steps 700 --seed 1
export_reader six first
measure first 440 20 3 "share holds behind chain supports passage"

# The same after some more training, reading less; and the second one: three of its layers.
"$torch" "$here/train.py" "$into/second.jsonl" --base "$into/base" --into "$into/six" --steps 2000 \
	--until 800 --save 100 --seed 1
export_reader six teacher
measure teacher 220 6 1 "share holds supports"
python "$here/examples.py" "$source" "$into/chains.jsonl" "$into/manuals.jsonl" \
	--into "$into/short.jsonl" --seed 1 --share 0.4 --chains 750 --window 220
python "$here/rivals.py" "$source" "$into/chains.jsonl" "$into/manuals.jsonl" \
	--examples "$into/short.jsonl" --into "$into/rivals.jsonl"
distil() {
	"$torch" "$here/distil.py" "$@" --base "$into/base" --teacher "$into/teacher" \
		--from "$into/six/checkpoint.pt" --into "$into/three" --seed 2
}
distil "$into/short.jsonl" --steps 3000 --until 250
distil "$into/rivals.jsonl" --steps 620 --save 40
export_reader three second
measure second 220 6 1 "share holds supports"
