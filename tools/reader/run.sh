#!/bin/sh
# Train the reader and measure it beside Clew's own choice: docs/results/reader.md.
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
touch "$into/without.txt"
python "$here/chains.py" "$source" --into "$into/chains.jsonl" --without "$into/without.txt"
python "$here/manuals.py" "$manuals" --into "$into/manuals.jsonl"
python "$here/examples.py" "$source" --into "$into/first.jsonl"
python "$here/examples.py" "$source" "$into/chains.jsonl" "$into/manuals.jsonl" \
	--into "$into/second.jsonl" --seed 1 --share 0.4 --chains 750
"$torch" "$here/train.py" "$into/first.jsonl" --base "$into/base" --into "$into/run" --steps 2400 --until 300
"$torch" "$here/train.py" "$into/second.jsonl" --base "$into/base" --into "$into/run" --steps 700 --seed 1
"$torch" "$here/export.py" "$into/run/checkpoint.pt" --base "$into/base" --into "$into/reader"
for name in 2wiki_train hotpotqa_train100 musique_train100 2wiki_rkendev500 musique_ketrag500; do
	only=""
	test -f "$into/only-$name.txt" && only="--only $into/only-$name.txt"
	# shellcheck disable=SC2086
	python "$here/cases.py" "$data/$name" --indexes "$into/idx" --into "$into/cases" --last --parts $only
done
python "$here/cases.py" pages --indexes "$into/idx" --into "$into/cases"
python "$here/blend.py" score "$into"/cases/*.pkl --reader "$into/reader" --into "$into/scores"
python "$here/blend.py" compare --cases "$into/cases" --scores "$into/scores" --models "$into/models.pkl" \
	--train 2wiki_train hotpotqa_train100 pages musique_train100 --test 2wiki_rkendev500 musique_ketrag500
