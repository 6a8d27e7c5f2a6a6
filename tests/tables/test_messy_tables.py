"""Tables as people keep them: read as a person would read them, or an error that names the fix."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from comanifold.tables import TableError, read_table

N = np.nan


@dataclass
class Messy:
    """A file, how it is read, and what must come of it."""

    content: str | bytes
    values: list | None = None
    rows: list[str] | None = None
    columns: list[str] | None = None
    name: str = "t.csv"
    options: dict = field(default_factory=dict)
    annotations: dict | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)


XY, AB = ["x", "y"], ["a", "b"]
PLAIN = [[1, 2], [3, 4]]

READ = {
    # Headers.
    "years as names": Messy(
        "Country,1990,1991,1992\nChad,5.1,3,2\nPeru,4,7.5,1\n",
        [[5.1, 3, 2], [4, 7.5, 1]],
        ["Chad", "Peru"],
        ["1990", "1991", "1992"],
        notes=["years"],
    ),
    "two years as names": Messy(
        "Country,1990,1991\nx,1,2\ny,3,4\n", PLAIN, XY, ["1990", "1991"], doubts=["--no-header"]
    ),
    "years without labels": Messy(
        "1990,1991,1992\n5,3,4\n7,1,2\n",
        [[5, 3, 4], [7, 1, 2]],
        ["row 1", "row 2"],
        ["1990", "1991", "1992"],
        doubts=["--no-header"],
    ),
    "years with an id column": Messy(
        "id,2001,2002\n7,1,2\n9,3,4\n", PLAIN, ["7", "9"], ["2001", "2002"], doubts=["--no-header"]
    ),
    "years that are data": Messy(
        "born,died\n1900,1950\n1910,1990\n",
        [[1900, 1950], [1910, 1990]],
        ["row 1", "row 2"],
        ["born", "died"],
    ),
    "times as names": Messy(
        "gene,0,5,30\nx,0.1,0.7,0.3\ny,0.4,0.2,1.5\n",
        [[0.1, 0.7, 0.3], [0.4, 0.2, 1.5]],
        XY,
        ["0", "5", "30"],
        doubts=["--no-header"],
    ),
    "hours as names": Messy("id,08:00,12:30\nx,1,2\ny,3,4\n", PLAIN, XY, ["08:00", "12:30"]),
    "dates as names": Messy(
        "id,2020-01-01,2020-02-01\nx,1,2\ny,3,4\n", PLAIN, XY, ["2020-01-01", "2020-02-01"]
    ),
    "days of a month as names": Messy(
        "id,01.02.2020,02.02.2020\nx,1,2\ny,3,4\n", PLAIN, XY, ["01.02.2020", "02.02.2020"]
    ),
    "numbers in order that may be data": Messy(
        "x,1,4,9\ny,3,2,5\nz,5,1,4\n",
        [[1, 4, 9], [3, 2, 5], [5, 1, 4]],
        ["x", "y", "z"],
        ["column 2", "column 3", "column 4"],
        doubts=["--header"],
    ),
    "numbers of samples as names": Messy(
        "gene,101,57,203\nx,1,2,3\ny,3,1,2\n",
        [[1, 2, 3], [3, 1, 2]],
        XY,
        ["101", "57", "203"],
        doubts=["--no-header"],
    ),
    "numbers unlike those below": Messy(
        "w,101,57,203\nx,1,2,3\ny,3,1,2\nz,2,3,1\n",
        [[101, 57, 203], [1, 2, 3], [3, 1, 2], [2, 3, 1]],
        ["w", "x", "y", "z"],
        doubts=["--header"],
    ),
    "thousands cut at commas": Messy(
        "name,price\nx,1,500\ny,2,300\n",
        [[1, 500], [2, 300]],
        XY,
        ["name", "price"],
        doubts=["quote such cells"],
    ),
    "two numbers in order": Messy("x,1,4\ny,3,2\n", [[1, 4], [3, 2]], XY),
    "empty corner": Messy(",a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB),
    "empty corner and duplicate labels": Messy(
        ",1,2\nABI1,1,2\nABI1,3,4\nABI1 (2),5,6\n",
        [[1, 2], [3, 4], [5, 6]],
        ["ABI1", "ABI1 (3)", "ABI1 (2)"],
        ["1", "2"],
        doubts=["'ABI1'"],
    ),
    "empty corner above numbers": Messy(
        ",2001,2002\n7,1,2\n9,3,4\n", PLAIN, ["7", "9"], ["2001", "2002"]
    ),
    "as R writes it": Messy('"a","b"\n"x",1,2\n"y",3,4\n', PLAIN, XY, AB),
    "duplicate names of columns": Messy(
        "g,a,a\nx,1,2\ny,3,4\n", PLAIN, XY, ["a", "a (2)"], doubts=["'a'; "]
    ),
    "no header given": Messy(
        "x,1990,1991,1992\ny,1,2,3\n",
        [[1990, 1991, 1992], [1, 2, 3]],
        XY,
        options={"header": False},
    ),
    # Lines around the table.
    "a title": Messy("Results of 2020\n\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB, notes=["Results"]),
    "a title with a comma": Messy("Results, final\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB),
    "two padded titles": Messy(
        "Results,,\nof 2020,,\n,,\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB, notes=["of 2020"]
    ),
    "labels without data below the header": Messy(
        "g,a,b\nnorth,,\nx,1,2\ny,3,4\n", [[N, N], *PLAIN], ["north", *XY], AB
    ),
    "a padded title": Messy("Results,,\n,,\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB),
    "comments": Messy(
        "# made by hand, twice, in 2020\n# v2\ng,a,b\nx,1,2\n# half\ny,3,4\n",
        PLAIN,
        XY,
        AB,
        notes=["Comment lines"],
    ),
    "other comments": Messy("% x\n// y, z\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB),
    "a header that begins as a comment": Messy(
        "#gene,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB
    ),
    "units below the header": Messy(
        "id,a,b\n,cm,kg\nx,1,2\ny,3,4\n",
        PLAIN,
        XY,
        AB,
        annotations={"columns": {"unit": ["cm", "kg"]}},
        notes=["Units in line 2: 'cm', 'kg'"],
    ),
    "few units below the header": Messy(
        "id,a,b\n,,kg\nx,1,2\ny,3,4\n",
        PLAIN,
        XY,
        AB,
        annotations={"columns": {"unit": ["", "kg"]}},
    ),
    "units above the header": Messy(
        ",(cm),mg/dl\nid,a,b\nx,1,2\ny,3,4\n",
        PLAIN,
        XY,
        AB,
        annotations={"columns": {"unit": ["(cm)", "mg/dl"]}},
    ),
    "two header rows": Messy(
        ",before,,after,\nid,q1,q2,q1,q2\nx,1,2,3,4\ny,5,6,7,8\n",
        [[1, 2, 3, 4], [5, 6, 7, 8]],
        XY,
        ["before / q1", "before / q2", "after / q1", "after / q2"],
        notes=["2 lines"],
    ),
    "two header rows with words": Messy(
        "id,q1,q2\nwho,how often,how much\nx,1,2\ny,3,4\n",
        PLAIN,
        XY,
        ["q1 / how often", "q2 / how much"],
        doubts=["--header-rows 1"],
    ),
    "header rows given": Messy(
        "g,2019,2020\nkind,1,2\nx,1,2\ny,3,4\n",
        PLAIN,
        XY,
        ["2019 / 1", "2020 / 2"],
        options={"header_rows": 2},
    ),
    "rows skipped": Messy(
        "1,2,3\n4,5,6\ng,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB, options={"skip_rows": 2}
    ),
    "sep=": Messy("sep=;\ng;a;b\nx;1;2\ny;3;4\n", PLAIN, XY, AB, notes=["Line 1 is skipped"]),
    "separators at the ends": Messy(
        "g,a,b,\nx,1,2,\ny,3,4,\n", PLAIN, XY, AB, notes=["Empty columns left out: 1"]
    ),
    "separators at the ends of data": Messy("g,a,b\nx,1,2,\ny,3,4,\n", PLAIN, XY, AB),
    "separators at the ends without header": Messy(
        "1,2,\n3,4,\n", PLAIN, ["row 1", "row 2"], ["column 1", "column 2"]
    ),
    "empty rows and columns at the end": Messy(
        "g,a,b,,\nx,1,2,,\ny,3,4,,\n,,,,\n,,,,\n",
        PLAIN,
        XY,
        AB,
        notes=["Empty rows left out: 2", "Empty columns left out: 2"],
    ),
    "blanks after separators": Messy("g, a, b\nx, 1, 2\ny, 3, 4\n", PLAIN, XY, AB),
    "a footer": Messy(
        "g,a,b\nx,1,2\ny,3,4\n\nSource: the office, 2020\n", PLAIN, XY, AB, doubts=["--skip-footer"]
    ),
    "a padded footer": Messy(
        "g,a,b\nx,1,2\ny,3,4\n,,\nSource: office,,\n", PLAIN, XY, AB, doubts=["--skip-footer"]
    ),
    "a total": Messy(
        "g,a,b\nx,1,2\ny,3,4\nTotal,4,6\n",
        [[1, 2], [3, 4], [4, 6]],
        [*XY, "Total"],
        AB,
        doubts=["'Total'; to leave them out: --skip-footer 1"],
    ),
    "a total left out": Messy(
        "g,a,b\nx,1,2\ny,3,4\nTotal,4,6\n", PLAIN, XY, AB, options={"skip_footer": 1}
    ),
    # Marks.
    "thousands by many groups": Messy(
        "g\ta\nx\t1,500\ny\t1,234,567\n", [[1500], [1234567]], XY, ["a"], notes=["Thousands"]
    ),
    "thousands by decimals elsewhere": Messy(
        "g\ta\tb\nx\t1,500\t0.5\ny\t2,000\t1\n", [[1500, 0.5], [2000, 1]], XY, AB
    ),
    "thousands by both marks": Messy("g\ta\nx\t1,500\ny\t2,500.25\n", [[1500], [2500.25]], XY),
    "thousands by small integers": Messy(
        "g\ta\nx\t1,500\ny\t950\n", [[1500], [950]], XY, doubts=["--decimal ,"]
    ),
    "thousands in quotes": Messy('g,a,b\nx,"1,500",0.5\ny,"12,000",2\n', [[1500, 0.5], [12000, 2]]),
    "points as thousands by small integers": Messy(
        "g;a\nx;1.500\ny;950\n", [[1500], [950]], XY, doubts=["--decimal ."]
    ),
    "points as thousands by groups": Messy("g;a\nx;1.500\ny;1.234.567\n", [[1500], [1234567]], XY),
    "points as thousands by decimal commas": Messy(
        "g;a;b\nx;1.500;0,5\ny;2.500;1,25\n", [[1500, 0.5], [2500, 1.25]], XY, AB
    ),
    "points with three digits": Messy(
        "g,a,b\nx,1.234,2.345\ny,3.456,4.567\n",
        [[1.234, 2.345], [3.456, 4.567]],
        XY,
        AB,
        doubts=["--thousands ."],
    ),
    "points with three digits given": Messy(
        "g,a\nx,1.234\ny,3.456\n", [[1234], [3456]], options={"thousands": "."}
    ),
    "points with a leading zero": Messy("g,a\nx,0.234\ny,3.456\n", [[0.234], [3.456]], XY, ["a"]),
    "commas given as decimals": Messy(
        "g\ta\nx\t1,500\ny\t2,250\n", [[1.5], [2.25]], options={"decimal": ","}
    ),
    "commas given as thousands": Messy(
        "g\ta\nx\t1,500\ny\t2,250\n", [[1500], [2250]], options={"thousands": ","}
    ),
    "blanks as thousands": Messy(
        "g;a;b\nx;1 500;2\u202f500,5\ny;1\u00a0234\u00a0567;1\n",
        [[1500, 2500.5], [1234567, 1]],
        XY,
        AB,
        notes=["Thousands"],
    ),
    "apostrophes as thousands": Messy("g;a\nx;1'500\ny;2’500.5\n", [[1500], [2500.5]], XY),
    "decimal commas": Messy("g;a;b\nx;0,5;-1,2\ny;1,5e3;,5\n", [[0.5, -1.2], [1500, 0.5]], XY, AB),
    "decimal commas in quotes": Messy('g,a\nx,"0,13"\ny,"1,5"\n', [[0.13], [1.5]], XY),
    # Cells.
    "ways to write a number": Messy(
        "a,b,c,d\n1e-5,1E+05,+3,.5\n5., 2 ,\u00a03\u00a0,-0\n",
        [[1e-5, 1e5, 3, 0.5], [5, 2, 3, 0]],
    ),
    "minus signs": Messy("g,a,b\nx,\u22121.5,\u20132\ny,3,-4\n", [[-1.5, -2], [3, -4]], XY, AB),
    "percent": Messy("g,a\nx,12%\ny,7.5 %\n", [[12], [7.5]], XY, notes=["Percent"]),
    "percent and plain": Messy(
        "g,a\nx,12%\ny,0.5\n", [[12], [0.5]], XY, doubts=["mixes 1 percentages with 1 plain"]
    ),
    "yes and no": Messy(
        "g,a,b,c\nx,yes,TRUE,1\ny,No,,2\nz,,false,3\n",
        [[1, 1, 1], [0, N, 2], [N, 0, 3]],
        ["x", "y", "z"],
        ["a", "b", "c"],
        notes=["Yes and no were read as 1 and 0 in 'a', 'b'"],
    ),
    "limits as such": Messy(
        "g,a\nx,<0.5\ny,3\nz,>100\n", [[0.5], [3], [100]], options={"censored": "limit"}
    ),
    "limits as missing": Messy(
        "g,a\nx,<0.5\ny,3\nz,> 100\n", [[N], [3], [N]], options={"censored": "missing"}
    ),
    "a limit as a missing code": Messy(
        "g,a\nx,<0.5\ny,3\n", [[N], [3]], options={"missing": "<0.5"}
    ),
    "error cells": Messy("g,a,b\nx,#N/A,2\ny,3,#REF!\n", [[N, 2], [3, N]], XY, AB),
    # Text.
    "text and dates": Messy(
        "id,sex,visit,a\np1,f,2020-01-01,1\np2,m,2020-02-01,2\np3,,NA,3\n",
        [[1], [2], [3]],
        ["p1", "p2", "p3"],
        ["a"],
        annotations={
            "rows": {"sex": ["f", "m", ""], "visit": ["2020-01-01", "2020-02-01", ""]}
        },
        notes=["Annotations of rows, not part of the matrix: 'sex', 'visit'."],
    ),
    "sodium is not missing": Messy(
        "id,ion,a\np1,Na,1\np2,K,2\np3,NA,3\n",
        [[1], [2], [3]],
        annotations={"rows": {"ion": ["Na", "K", ""]}},
    ),
    "words among numbers": Messy(
        "id,a,b\np,low,1\nq,low,2\nr,low,3\ns,7,4\n",
        [[1], [2], [3], [4]],
        columns=["b"],
        doubts=['3 words and 1 numbers', '--missing "low"'],
    ),
    "a row called as footers are": Messy(
        "g,a,b\nx,1,2\nTotal protein,,\ny,3,4\n",
        [[1, 2], [N, N], [3, 4]],
        ["x", "Total protein", "y"],
    ),
    "names with blanks around them": Messy(
        "id,a ,b\nx,1,2\ny,3,4\n", [[1], [3]], XY, ["a "], options={"columns": "a"}
    ),
    "groups before labels": Messy(
        "sex,name,a\nf,p1,1\nf,p2,2\nm,p3,3\nm,p4,4\n",
        [[1], [2], [3], [4]],
        ["p1", "p2", "p3", "p4"],
        ["a"],
        annotations={"rows": {"sex": ["f", "f", "m", "m"]}},
    ),
    "words after the first lines": Messy(
        "g,a,b\n" + "".join(f"r{i},,{i}\n" for i in range(300)) + "s,low,1\nt,high,2\n",
        [*[[i] for i in range(300)], [1], [2]],
        columns=["b"],
    ),
    "columns by a range of names": Messy(
        "id,Q1,Q2,Q3,end\nx,1,2,3,4\ny,5,6,7,8\n",
        [[1, 2, 3], [5, 6, 7]],
        XY,
        ["Q1", "Q2", "Q3"],
        options={"columns": "Q1-Q3"},
    ),
    "a name with a dash is a name": Messy(
        "id,a,b,a-b\nx,1,2,3\ny,4,5,6\n", [[3], [6]], XY, ["a-b"], options={"columns": "a-b"}
    ),
    # Encodings.
    "Latin-1": Messy(
        "g,é\nà,1\nb,2\n".encode("latin-1"), [[1], [2]], ["à", "b"], ["é"], notes=["cp1252"]
    ),
    "Windows quotes": Messy("g,a\n“x”,1\ny,2\n".encode("cp1252"), [[1], [2]], ["“x”", "y"], ["a"]),
    "UTF-8 with a mark": Messy("\ufeffg,a,b\nx,1,2\ny,3,4\n", PLAIN, XY, AB),
    "UTF-16": Messy("g\ta\tb\nx\t1\t2\ny\t3\t4\n".encode("utf-16"), PLAIN, XY, AB),
    "UTF-16 without a mark": Messy("g,a,b\nx,1,2\ny,3,4\n".encode("utf-16-le"), PLAIN, XY, AB),
    "UTF-16 of the other kind": Messy("g,a,b\nx,1,2\ny,3,4\n".encode("utf-16-be"), PLAIN, XY, AB),
    # Long tables.
    "a long table": Messy(
        "patient,test,result\np1,Na,140\np1,K,4\np2,K,5\n",
        [[140, 4], [N, 5]],
        ["p1", "p2"],
        ["Na", "K"],
        options={"long": "patient,test,result"},
    ),
    "a long table by numbers": Messy(
        "7;x;0,5\n8;y;1,5\n", [[0.5, N], [N, 1.5]], ["7", "8"], XY, options={"long": [1, 2, 3]}
    ),
    "a long table with repeats": Messy(
        "r,c,v\np,a,1\np,a,3\np,b,4\n",
        [[2, 4]],
        ["p"],
        AB,
        options={"long": "r,c,v"},
        doubts=["1 entries have several lines and were averaged"],
    ),
    "a table that looks long": Messy(
        "who,what,v\np,a,1\np,b,3\nq,a,4\nq,b,5\n",
        [[1], [3], [4], [5]],
        doubts=["--long who,what,v"],
    ),
    # Files of programs and offices.
    "World Bank": Messy(
        '"Data Source","World Development Indicators",\n\n"Last Updated Date","2020-07-01",\n\n'
        '"Country Name","Country Code","Indicator","1990","1991","1992",\n'
        '"Aruba","ABW","GDP","..","1.5","2.5",\n"Chad","TCD","GDP","3.1","4.1","5.1",\n',
        [[N, 1.5, 2.5], [3.1, 4.1, 5.1]],
        ["Aruba", "Chad"],
        ["1990", "1991", "1992"],
        notes=["Line 5 holds years", "Missing: 1 '..'"],
    ),
    "years and a column of remarks": Messy(
        "Country,1990,1991,1992,Notes\nChad,5.1,3,2,ok\nPeru,4,7.5,1,late\n",
        [[5.1, 3, 2], [4, 7.5, 1]],
        ["Chad", "Peru"],
        ["1990", "1991", "1992"],
        annotations={"rows": {"Notes": ["ok", "late"]}},
    ),
    "numbers of samples after two words": Messy(
        "OTU,Phylum,101,57,203\nx,P,1,2,3\ny,Q,3,1,2\n",
        [[1, 2, 3], [3, 1, 2]],
        XY,
        ["101", "57", "203"],
        doubts=["--no-header"],
    ),
    "World Bank with remarks at the end": Messy(
        "Country,Code,1990 [YR1990],1991 [YR1991]\nChad,TCD,3.1,..\nPeru,PER,3.1,4\n,,,\n"
        "Data from database: WDI,,,\nLast Updated: 07/01/2020,,,\n",
        [[3.1, N], [3.1, 4], [N, N], [N, N]],
        doubts=["--skip-footer 2"],
    ),
    "GEO series matrix": Messy(
        '!Series_title\t"A study"\n!Sample_title\t"c 1"\t"c 2"\n!Sample_id\t"GSM1"\t"GSM2"\n'
        '!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\n"1007_s_at"\t5.1\t6.2\n'
        '"1053_at"\t\t4.2\n!series_matrix_table_end\n',
        [[5.1, 6.2], [N, 4.2]],
        ["1007_s_at", "1053_at"],
        ["GSM1", "GSM2"],
        name="t.txt",
    ),
    "ratings with double colons": Messy(
        "".join(f"{1 + i // 6}::{i * 7 % 11 + 1}::{1 + i % 5}\n" for i in range(30)),
        [[1 + i // 6, i * 7 % 11 + 1, 1 + i % 5] for i in range(30)],
        doubts=["--long 1,2,3"],
    ),
    "ratings with times": Messy(
        "userId,movieId,rating,timestamp\n1,7,5,964982703\n1,8,4,964982704\n2,7,1,964982705\n"
        "2,9,2,964982706\n",
        [[1, 7, 5, 964982703], [1, 8, 4, 964982704], [2, 7, 1, 964982705], [2, 9, 2, 964982706]],
        doubts=["--long userId,movieId,rating"],
    ),
    "tests of patients and visits": Messy(
        "patient,visit,test,value\np1,1,Na,140\np1,1,K,4\np1,2,Na,141\np2,1,K,5\n",
        [[1, 140], [1, 4], [2, 141], [1, 5]],
        doubts=["--long patient,test,value"],
    ),
    "Markdown": Messy(
        "| name | a | b |\n|------|:-:|---|\n| x | 1 | 2 |\n| y | 3 | 4 |\n",
        PLAIN,
        XY,
        AB,
        name="t.txt",
    ),
    "psql": Messy(
        " name | a | b \n------+---+---\n x    | 1 | 2 \n y    | 3 |   \n(2 rows)\n",
        [[1, 2], [3, N]],
        XY,
        AB,
        name="t.txt",
        doubts=["--skip-footer 1"],
    ),
    "missing as databases and offices write it": Messy(
        "g,a,b\nx,\\N,2\ny,3,:\nz,\u2014,\u2026\nw,5,6\n", [[N, 2], [3, N], [N, N], [5, 6]]
    ),
    "years in a second header row": Messy(
        "Country,GDP,,Pop,\n,2019,2020,2019,2020\nx,1.5,2.5,3,4\ny,4.1,5.1,6,7\n",
        [[1.5, 2.5, 3, 4], [4.1, 5.1, 6, 7]],
        XY,
        ["GDP / 2019", "GDP / 2020", "Pop / 2019", "Pop / 2020"],
        doubts=["--header-rows 1"],
    ),
    "numbers in a second header row": Messy(
        ",old,,new,\nid,1,2,1,2\nx,1.5,2.5,3,4\ny,4.1,5.1,6,7\n",
        [[1.5, 2.5, 3, 4], [4.1, 5.1, 6, 7]],
        XY,
        ["old / 1", "old / 2", "new / 1", "new / 2"],
        doubts=["--header-rows 1"],
    ),
    "a row of numbers without a label": Messy(
        "g,a,b\n,1,2\nx,5,6\ny,7,8\n", [[1, 2], [5, 6], [7, 8]], doubts=["--header-rows 2"]
    ),
    "columns without a name": Messy(
        ",,a\nx,1,2\ny,3,4\n", PLAIN, XY, ["column 2", "a"], doubts=["no name for 1 columns"]
    ),
    "thousands cut under a word": Messy(
        "product,price\nx,1,500\ny,2,300\n", [[1, 500], [2, 300]], doubts=["quote such cells"]
    ),
    # Labels.
    "numbers of subjects": Messy(
        "Subject,a,b\n101,1,2\n102,3,4\n", PLAIN, ["101", "102"], AB
    ),
    "identifiers in one word": Messy(
        "PatientID,a,b\n101,1,2\n102,3,4\n", PLAIN, ["101", "102"], AB
    ),
    "an index of pandas": Messy("Unnamed: 0,a,b\n0,1,2\n1,3,4\n", PLAIN, ["0", "1"], AB),
    "codes with noughts": Messy(
        "fips,a,b\n007,1,2\n112,3,4\n", PLAIN, ["007", "112"], AB, doubts=["--no-labels"]
    ),
    "codes with noughts among the data": Messy(
        "g,zip,a\nx,01234,2\ny,90210,4\n", [[1234, 2], [90210, 4]], doubts=["--exclude 2"]
    ),
    "names in the last column": Messy("a,b,name\n1,2,x\n3,4,y\n", PLAIN, XY, AB),
    "merged cells before the labels": Messy(
        "group,id,a\nf,x,1\n,y,2\nm,z,3\n,w,4\n", [[1], [2], [3], [4]], ["x", "y", "z", "w"]
    ),
    "rows without a label": Messy(
        "g,a,b\nx,1,2\n,3,4\n", PLAIN, ["x", "row 2"], doubts=["--labels COLUMN"]
    ),
    "genes that became dates": Messy(
        "gene,a,b\n1-Sep,1,2\nTP53,3,4\nMYC,5,6\n",
        [[1, 2], [3, 4], [5, 6]],
        doubts=["spreadsheets turn names"],
    ),
    # Summaries.
    "a total in German": Messy(
        "g;a;b\nx;1;2\ny;3;4\nGesamt;4;6\n", [[1, 2], [3, 4], [4, 6]], doubts=["--skip-footer 1"]
    ),
    "means and deviations": Messy(
        "g,a,b\nx,1,2\ny,3,4\nMean,2,3\nSD,1,1\nN,2,2\n",
        [[1, 2], [3, 4], [2, 3], [1, 1], [2, 2]],
        doubts=["rows at the end that sum up others", "--skip-footer 3"],
    ),
    "a total in the middle": Messy(
        "g,a,b\nx,1,2\nTotal,4,6\ny,3,4\nz,5,5\n",
        [[1, 2], [4, 6], [3, 4], [5, 5]],
        doubts=["rows called 'Total' were read as data"],
    ),
    "a column of totals": Messy(
        "g,a,b,Total\nx,1,2,3\ny,3,4,7\n", [[1, 2, 3], [3, 4, 7]], doubts=["--exclude 4"]
    ),
    "a remark as the last label": Messy(
        "g,a,b\nx,1,2\ny,3,4\nData retrieved in 2020,,\n",
        [[1, 2], [3, 4], [N, N]],
        doubts=["--skip-footer 1"],
    ),
    # Ways to write cells.
    "negative in parentheses": Messy(
        'x,a,b\nr,"(1,234.50)",5\ns,(2),6\nt,3,(4)\n',
        [[-1234.5, 5], [-2, 6], [3, -4]],
        doubts=["--exclude 2-3"],
    ),
    "minus at the end": Messy(
        "x;a\nr;100,50-\ns;250,25\n", [[-100.5], [250.25]], doubts=["read as negative"]
    ),
    "Arabic digits": Messy("g;a;b\nx;١٢;٣٫٥\ny;٤;٥٫٥\n", [[12, 3.5], [4, 5.5]], XY, AB),
    "a sign that is not seen": Messy("g,a\nx,\u200b4\ny,5\nz,6\n", [[4], [5], [6]]),
    "true and false as letters": Messy("g,a,b\nx,T,F\ny,F,T\n", [[1, 0], [0, 1]], XY, AB),
    "true and false in German": Messy("g;a\nx;WAHR\ny;FALSCH\n", [[1], [0]], XY, ["a"]),
    "yes, no and 1": Messy("g,a\nx,yes\ny,no\nz,1\n", [[1], [0], [1]]),
    "a letter that is no truth": Messy(
        "g,arm,a\nx,N,1\ny,N,2\n", [[1], [2]], annotations={"rows": {"arm": ["N", "N"]}}
    ),
    "numbers with errors": Messy(
        "g,a,b\nx,1.5±0.2,3\ny,2.5±0.1,4\n", [[3], [4]], doubts=["write plain numbers"]
    ),
}  # fmt: skip

REFUSED = {
    "decimal commas cut at commas": Messy(
        "g,a,b\nx,1,5,2,5\ny,3,5,4,5\n", notes=["header with 3 names", "--skip-rows 1"]
    ),
    "positions of several exons": Messy(
        "# Program:featureCounts\nGeneid\tStart\tEnd\ta.bam\nG1\t1;2\t5;6\t5\nG2\t7\t8\t0\n"
        "G3\t9\t12\t3\n",
        name="t.tsv",
        notes=["'1;2' is not a number", "--exclude 2-3"],
    ),
    "a word in a header of numbers": Messy(
        "g,5,1,up\nx,1,2,3\ny,4,5,6\n", notes=["If line 1 is a header: --header"]
    ),
    "a web page": Messy("<html><table><tr><td>1</td></tr></table></html>\n", notes=["a web page"]),
    "JSON": Messy('[{"a":1,"b":2},{"a":3,"b":4}]\n', notes=["JSON"]),
    "commas that could be either": Messy(
        "g\ta\nx\t1,500\ny\t2,250\n", notes=["'1,500'", "--thousands ,", "--decimal ,"]
    ),
    "commas that could be either, in quotes": Messy(
        'g,a\nx,"1,500"\ny,"2,250"\n', notes=["--thousands ,", "--decimal ,"]
    ),
    "both marks that could be either": Messy(
        "g\ta\tb\nx\t1,500\t1.500\ny\t2,500\t2.500\n", notes=["--decimal"]
    ),
    "malformed groups": Messy(
        "g;a;b\nx;1,50,0;0.5\ny;3;1.5\nz;4;2\n", notes=["'1,50,0' is not a number"]
    ),
    "another decimal mark": Messy(
        "g;a\nx;0.5\ny;1.5\nz;2,5\n", notes=["'2,5'", "points", "--decimal ,"]
    ),
    "a stray word": Messy(
        "g,a\nx,NA\ny,2\nz,low\nw,3\n",
        notes=["line 4, column 2 ('a'): 'low'", '--missing "low"', "--exclude 2"],
    ),
    "a stray word in the first row": Messy(
        "g,a\nx,low\ny,2\nz,3\n", notes=["line 2, column 2 ('a'): 'low'"]
    ),
    "a stray word in the second row": Messy(
        "g,a\nx,1\ny,low\nz,3\n", notes=["line 3, column 2 ('a'): 'low'"]
    ),
    "limits": Messy(
        "g,a\nx,<0.5\ny,3\nz,<0.5\n",
        notes=["line 2", "(2 such cells in 1 columns)", "--censored limit", "--censored missing"],
    ),
    "currency": Messy("g,a,b\nx,$5,1\ny,$6.50,2\n", notes=["'$5'", "--exclude 2"]),
    "numbers with units": Messy("g,a,b\nx,5 kg,1\ny,6 kg,2\n", notes=["'5 kg'", "--exclude 2"]),
    "a remark between rows": Messy(
        "g,a,b\nx,1,2\nNote: it rained\ny,3,4\n", notes=["line 3", "Note: it rained"]
    ),
    "a short line": Messy("g,a,b\nx,1,2\ny,3\n", notes=["line 3 has 2 cells", "--skip-footer"]),
    "a line cut short": Messy("g,a,b\nx,1,2\ny", notes=["line 3 has 1 cells"]),
    "no numbers": Messy("g,a,b\nx,low,red\ny,high,blue\n", notes=["no column holds numbers"]),
    "a range of names the wrong way": Messy(
        "id,a,b\nx,1,2\n", options={"columns": "b-a"}, notes=["'a' comes before 'b'"]
    ),
    "bytes of a picture": Messy(b"\x89PNG\r\n\x1a\n\x01\x02,\xe9\n" * 20, notes=["--encoding"]),
    "two columns for a long table": Messy(
        "r,c,v\np,a,1\n", options={"long": "r,c"}, notes=["--long row,column,value"]
    ),
    "a long table without a key": Messy(
        "r,c,v\np,a,1\np,,2\n", options={"long": "r,c,v"}, notes=["entry 2"]
    ),
}


def put(folder, case):
    path = folder / case.name
    content = case.content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("case", READ.values(), ids=list(READ))
def test_read_as_a_person_would(tmp_path, case):
    table = read_table(put(tmp_path, case), **case.options)
    np.testing.assert_array_equal(table.values, case.values)
    assert case.rows is None or table.row_names == case.rows
    assert case.columns is None or table.column_names == case.columns
    assert case.annotations is None or table.annotations == case.annotations
    for word in case.notes:
        assert any(word in note for note in table.notes), table.notes
    for word in case.doubts:
        assert any(word in doubt for doubt in table.doubts), table.doubts
    if not case.doubts:
        assert table.doubts == []


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
def test_error_that_names_the_fix(tmp_path, case):
    path = put(tmp_path, case)
    with pytest.raises(TableError) as caught:
        read_table(path, **case.options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message) < 600
    for word in case.notes:
        assert word in message
