-- What cannot be asked of protected rows and of households.

-- Rows of persons.
SELECT age, income FROM persons WHERE region_code = 1;
--code> returns_rows
--remedy> SELECT age, income, COUNT(*) FROM persons WHERE region_code = 1 GROUP BY age, income

-- Rows of persons with themselves.
SELECT COUNT(*) FROM persons a JOIN persons b ON a.region_code = b.region_code;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM persons AS a

-- A protected row with a household.
SELECT COUNT(*) FROM persons p JOIN dwellings d ON p.region_code = d.region_code;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM persons AS p

-- A row that a join could repeat.
SELECT COUNT(*) FROM persons p JOIN regions r ON r.area > p.age;
--code> join_multiplies
--remedy> SELECT COUNT(*) FROM persons AS p JOIN regions AS r ON r.code = p.region_code

-- A row that a join on another column could repeat.
SELECT COUNT(*) FROM persons p JOIN regions r ON r.region = p.birthplace;
--code> join_multiplies
--remedy> SELECT COUNT(*) FROM persons AS p JOIN regions AS r ON r.code = p.region_code

-- Public rows kept without a match.
SELECT r.region, COUNT(p.age) FROM regions r LEFT JOIN persons p ON p.region_code = r.code GROUP BY r.region;
--code> join_unsupported
--remedy> SELECT r.region, COUNT(p.age) FROM regions AS r JOIN persons AS p ON p.region_code = r.code GROUP BY r.region

-- Different rows, inside.
SELECT COUNT(*) FROM (SELECT DISTINCT age, sex FROM persons) AS t;
--code> distinct_across_units
--remedy> SELECT COUNT(DISTINCT age || '|' || sex) FROM persons

-- Rows twice.
SELECT COUNT(*) FROM (SELECT age FROM persons UNION ALL SELECT age FROM persons) AS t;
--code> subquery_across_units
--remedy> SELECT COUNT(*) FROM (SELECT age FROM persons) AS t

-- A window over rows.
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY income) AS r FROM persons) AS t WHERE r < 10;
--code> window_across_units

-- Households by name, inside and out.
SELECT household_id, COUNT(*) FROM members GROUP BY household_id HAVING COUNT(*) > 5;
--code> returns_individuals
--remedy> SELECT n1, COUNT(*) FROM (SELECT household_id, COUNT(*) AS n1 FROM members GROUP BY household_id HAVING COUNT(*) > 5) AS t GROUP BY n1

-- A row's number.
SELECT COUNT(*) FROM persons WHERE rowid < 5;
--code> column_unknown

-- A hash of an answer.
SELECT MD5(occupation) AS h, COUNT(*) FROM persons GROUP BY h;
--code> construct_unsupported
--remedy> SELECT occupation AS h, COUNT(*) FROM persons GROUP BY h

-- A pattern that is not a constant.
SELECT COUNT(*) FROM persons WHERE birthplace LIKE occupation;
--code> pattern_not_constant

-- A value compared with another kind.
SELECT COUNT(*) FROM persons WHERE age > 'forty';
--code> type_mismatch

-- A question in another alphabet.
SELECT COUNT(*) FROM persons WHERE age = １;
--code> not_ascii
