-- Text as analysts clean, cut and search it.

-- Doctors whose names are written in two ways.
SELECT INITCAP(LOWER(doctor)) AS who, COUNT(*) FROM visits WHERE doctor IS NOT NULL GROUP BY who;
--duckdb> SELECT CASE LOWER(doctor) WHEN 'dr. ahl' THEN 'Dr. Ahl' WHEN 'dr. bek' THEN 'Dr. Bek' ELSE 'Dr. Cruz' END AS who, COUNT(*) FROM visits WHERE doctor IS NOT NULL GROUP BY who
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by initcap(lower(doctor))
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Names without spaces around them.
SELECT TRIM(name) AS who, COUNT(*) FROM people WHERE name IS NOT NULL GROUP BY who;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by trim(name)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- First names.
SELECT SPLIT_PART(TRIM(name), ' ', 1) AS first, COUNT(*) FROM people WHERE name IS NOT NULL GROUP BY first;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by split_part(trim(name), ' ', 1)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- How long names are.
SELECT LENGTH(name) AS letters, COUNT(*) FROM people WHERE name IS NOT NULL GROUP BY letters;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by length(name)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- The mean length of a note, bounded.
SELECT AVG(LEAST(LENGTH(notes), 40)) FROM visits WHERE notes IS NOT NULL;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of least(length(notes), 40) in steps of 0.5 from 40: L1 491520, Linf 491520, L2² 241591910400; SummedNoise
--plan> rows: L1 491520, Linf 491520, L2² 241591910400; SummedNoise

-- Mail providers.
SELECT SPLIT_PART(email, '@', 2) AS provider, COUNT(*) FROM people WHERE email IS NOT NULL GROUP BY provider;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by split_part(email, '@', 2)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Mail providers by what comes after the sign.
SELECT SUBSTRING(email, POSITION('@' IN email) + 1) AS provider, COUNT(*) FROM people WHERE email IS NOT NULL GROUP BY provider;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by substring(email, add(strpos(email, '@'), 1))
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Chapters of diagnoses.
SELECT LEFT(code, 1) AS chapter, COUNT(*) FROM diagnoses WHERE code IS NOT NULL GROUP BY chapter;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by left(code, 1)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Categories of diagnoses, before the point.
SELECT SUBSTR(code, 1, 3) AS category, COUNT(DISTINCT visit_id) FROM diagnoses WHERE code IS NOT NULL GROUP BY category;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by substring(code, 1, 3)
--plan> distinct values of visit_id: L1 36, Linf 36, L2² 1296; DiscreteLaplace
--plan> how many distinct values of a unit count in steps of 1/1048576: L1 1048576, Linf 1048576, L2² 1099511627776; Geometric
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Subcategories, after the point.
SELECT RIGHT(code, 1) AS sub, COUNT(*) FROM diagnoses WHERE CONTAINS(code, '.') GROUP BY sub;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by right(code, 1)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Hypertension by a pattern.
SELECT COUNT(*) FROM diagnoses WHERE code LIKE 'I10.%';
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- By a pattern in any case.
SELECT COUNT(*) FROM visits WHERE notes ILIKE '%STABLE%';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Not like a pattern.
SELECT COUNT(*) FROM visits WHERE notes NOT LIKE '%fever%';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A percent sign that means itself.
SELECT COUNT(*) FROM visits WHERE notes LIKE '%!%%' ESCAPE '!';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- By a regular expression.
SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(notes, '[0-9]+');
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- The whole text by a regular expression.
SELECT COUNT(*) FROM diagnoses WHERE REGEXP_FULL_MATCH(code, '[A-Z][0-9]{2}(\.[0-9])?');
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- SIMILAR TO, the standard's.
SELECT COUNT(*) FROM diagnoses WHERE code SIMILAR TO '(I|E)[0-9]+.*';
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- A number inside a text.
SELECT REGEXP_EXTRACT(notes, '[0-9]+') AS number, COUNT(*) FROM visits WHERE notes IS NOT NULL GROUP BY number;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by regexp_extract(notes, '[0-9]+', 0)
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- A fever from a note, as a number.
SELECT AVG(CASE WHEN t BETWEEN 30 AND 45 THEN t END) FROM (SELECT TRY_CAST(REGEXP_EXTRACT(notes, '[0-9]+\.[0-9]+') AS DOUBLE) AS t FROM visits) AS n;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of case(between(a subquery's c0, 30, 45), a subquery's c0, None) in steps of 1/4194304 from 157286400: L1 377487360, Linf 377487360, L2² 142496706959769600; SummedNoise
--plan> rows with a value of case(between(a subquery's c0, 30, 45), a subquery's c0, None): L1 377487360, Linf 377487360, L2² 142496706959769600; SummedNoise

-- Digits removed.
SELECT REGEXP_REPLACE(code, '[0-9]', '#', 'g') AS shape, COUNT(*) FROM diagnoses WHERE code IS NOT NULL GROUP BY shape;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by regexp_replace(code, '[0-9]', '#', 'g')
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Points removed.
SELECT REPLACE(code, '.', '') AS plain, COUNT(*) FROM diagnoses WHERE code IS NOT NULL GROUP BY plain;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by replace(code, '.', '')
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Signs exchanged.
SELECT TRANSLATE(blood, '+-', 'PN') AS b, COUNT(*) FROM people WHERE blood IS NOT NULL GROUP BY b;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by translate(blood, '+-', 'PN')
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Beginnings and ends.
SELECT COUNT_IF(STARTS_WITH(email, 'user1')), COUNT_IF(ENDS_WITH(email, '.test')), COUNT_IF(PREFIX(email, 'user')), COUNT_IF(SUFFIX(email, 'example')) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> rows with a value of case(starts_with(email, 'user1'), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(ends_with(email, '.test'), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(starts_with(email, 'user'), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> rows with a value of case(ends_with(email, 'example'), 1, None): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Accents removed.
SELECT STRIP_ACCENTS(name) AS plain, COUNT(*) FROM people WHERE name IS NOT NULL GROUP BY plain;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by strip_accents(name)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Labels put together.
SELECT CONCAT(sex, '/', blood) AS label, COUNT(*) FROM people WHERE sex <> 'X' AND blood IS NOT NULL GROUP BY label;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by concat(sex, '/', blood)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Labels with a separator, missing parts left out.
SELECT CONCAT_WS('-', sex, blood) AS label, COUNT(*) FROM people GROUP BY label;
--duckdb> SELECT CONCAT_WS('-', sex, blood) AS label, COUNT(*) FROM people GROUP BY label HAVING COUNT(*) > 1
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by concat_ws('-', sex, blood)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Labels with bars.
SELECT sex || ':' || city AS label, COUNT(*) FROM people WHERE sex <> 'X' AND city IS NOT NULL GROUP BY label;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by join(sex, ':', city)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Numbers filled up with zeros.
SELECT LPAD(CAST(severity AS VARCHAR), 3, '0') AS grade, COUNT(*) FROM visits WHERE severity IS NOT NULL GROUP BY grade;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by lpad(cast_text(severity), 3, '0')
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Texts filled up at the end.
SELECT RPAD(blood, 4, '.') AS b, COUNT(*) FROM people WHERE blood IS NOT NULL GROUP BY b;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by rpad(blood, 4, '.')
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Stars for a severity.
SELECT REPEAT('*', 3) || CAST(severity AS VARCHAR) AS s, COUNT(*) FROM visits WHERE severity IS NOT NULL GROUP BY s;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by join(repeat('*', 3), cast_text(severity))
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Written backwards.
SELECT REVERSE(code) AS backwards, COUNT(*) FROM diagnoses WHERE code IS NOT NULL GROUP BY backwards;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by reverse(code)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- The first letter's number.
SELECT ASCII(code), COUNT(*) FROM diagnoses WHERE code IS NOT NULL GROUP BY 1;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by ascii(code)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- Empty notes are not missing ones.
SELECT COUNT_IF(notes = ''), COUNT_IF(notes IS NULL), COUNT_IF(LENGTH(notes) = 0), COUNT_IF(NULLIF(notes, '') IS NULL) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows with a value of case(equal(notes, ''), 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of case(is_null(notes), 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of case(equal(length(notes), 0), 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace
--plan> rows with a value of case(is_null(nullif(notes, '')), 1, None): L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Something said for what is missing.
SELECT COALESCE(doctor, 'nobody') AS who, COUNT(*) FROM visits GROUP BY who;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by coalesce(doctor, 'nobody')
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- The same with IFNULL.
SELECT IFNULL(blood, '?') AS b, COUNT(*) FROM people GROUP BY b;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by coalesce(blood, '?')
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric

-- Bytes and bits of a name.
SELECT SUM(LEAST(STRLEN(name), 50)), SUM(LEAST(BIT_LENGTH(name), 500)) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of least(strlen(name), 50): L1 50, Linf 50, L2² 2500; DiscreteLaplace
--plan> sum of least(bit_length(name), 500): L1 500, Linf 500, L2² 250000; DiscreteLaplace

-- Where a sign stands.
SELECT INSTR(notes, ':') AS place, COUNT(*) FROM visits WHERE notes IS NOT NULL GROUP BY place;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by strpos(notes, ':')
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- Spaces cut on one side.
SELECT LTRIM(name) AS l, RTRIM(name) AS r, COUNT(*) FROM people WHERE name IS NOT NULL GROUP BY l, r;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by ltrim(name), rtrim(name)
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric
