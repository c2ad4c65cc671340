-- What cannot be asked, by the code of the refusal; where the remedy shows a question, it is answered.

-- Rows of people.
SELECT * FROM people;
--code> returns_rows
--remedy> SELECT COUNT(*) FROM people

-- A column of people.
SELECT name, city FROM people WHERE smoker;
--code> returns_rows
--remedy> SELECT name, city, COUNT(*) FROM people WHERE smoker GROUP BY name, city

-- The ten most expensive visits.
SELECT ward, cost FROM visits ORDER BY cost DESC LIMIT 10;
--code> returns_rows
--remedy> SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward, cost

-- Rows of a join.
SELECT p.sex, v.ward FROM people p JOIN visits v ON v.person_id = p.person_id;
--code> returns_rows
--remedy> SELECT p.sex, v.ward, COUNT(*) FROM people AS p JOIN visits AS v ON v.person_id = p.person_id GROUP BY p.sex, v.ward

-- Rows of a subquery.
SELECT n FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t;
--code> returns_rows
--remedy> SELECT n, COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t GROUP BY n

-- Rows of a common table expression.
WITH v AS (SELECT ward, cost FROM visits) SELECT ward FROM v WHERE cost > 10;
--code> returns_rows
--remedy> WITH v AS (SELECT ward, cost FROM visits) SELECT ward, COUNT(*) FROM v WHERE cost > 10 GROUP BY ward

-- Groups of one person each.
SELECT person_id, COUNT(*) FROM visits GROUP BY person_id;
--code> returns_individuals
--remedy> SELECT n1, COUNT(*) FROM (SELECT person_id, COUNT(*) AS n1 FROM visits GROUP BY person_id) AS t GROUP BY n1

-- Groups of one visit each.
SELECT visit_id, SUM(cost) FROM visits GROUP BY visit_id;
--code> returns_individuals
--remedy> SELECT SUM(cost) FROM visits

-- The largest number of a person.
SELECT MAX(person_id) FROM people;
--code> unit_column
--remedy> SELECT COUNT(DISTINCT person_id) FROM people

-- People of different units side by side.
SELECT COUNT(*) FROM people a JOIN people b ON a.city = b.city;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.city = b.city WHERE a.person_id = b.person_id

-- Everybody with everybody.
SELECT COUNT(*) FROM people a, people b;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM people AS a, people AS b WHERE a.person_id = b.person_id

-- Visits and diagnoses joined by something else.
SELECT COUNT(*) FROM visits v JOIN diagnoses d ON v.severity = d.score;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM visits AS v JOIN diagnoses AS d ON v.severity = d.score WHERE v.visit_id = d.visit_id

-- A foreign key joined to another's.
SELECT COUNT(*) FROM visits v JOIN diagnoses d ON v.person_id = d.visit_id;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM visits AS v JOIN diagnoses AS d ON v.person_id = d.visit_id WHERE v.visit_id = d.visit_id

-- Whether anybody at all has something.
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = 'oncology');
--code> subquery_across_units
--remedy> SELECT COUNT(*) FROM people AS p WHERE EXISTS(SELECT 1 FROM visits AS v WHERE v.ward = 'oncology' AND v.person_id = p.person_id)

-- Doctors of other people.
SELECT COUNT(*) FROM visits WHERE doctor IN (SELECT doctor FROM visits WHERE cost > 5000);
--code> subquery_across_units
--remedy> SELECT COUNT(*) FROM visits WHERE doctor IN (SELECT doctor FROM visits AS same WHERE cost > 5000 AND same.person_id = visits.person_id)

-- A window over everybody.
SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY income) AS r FROM people) AS t WHERE r <= 10;
--code> window_across_units
--remedy> SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY people.person_id ORDER BY income) AS r FROM people) AS t WHERE r <= 10

-- A window by city.
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY city ORDER BY born) AS r FROM people) AS t WHERE r = 1;
--code> window_across_units
--remedy> SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY people.person_id, city ORDER BY born) AS r FROM people) AS t WHERE r = 1

-- Different cities of everybody, inside.
SELECT COUNT(*) FROM (SELECT DISTINCT city FROM people) AS c;
--code> distinct_across_units
--remedy> SELECT COUNT(DISTINCT city) FROM people

-- Public and private rows in one list.
SELECT COUNT(*) FROM (SELECT city FROM people UNION ALL SELECT city FROM cities) AS c;
--code> subquery_across_units
--remedy> SELECT COUNT(*) FROM (SELECT city FROM people) AS c

-- Names of everybody in one text.
SELECT STRING_AGG(name, ', ') FROM people;
--code> construct_unsupported
--remedy> SELECT COUNT(DISTINCT name) FROM people

-- Values in a list.
SELECT LIST(cost) FROM visits;
--code> construct_unsupported
--remedy> SELECT COUNT(DISTINCT cost) FROM visits

-- Any one value.
SELECT ANY_VALUE(income) FROM people;
--code> construct_unsupported
--remedy> SELECT COUNT(DISTINCT income) FROM people

-- A sum of unbounded lengths.
SELECT SUM(LENGTH(notes) * 1000000000) FROM visits;
--code> bounds_too_wide
--remedy> SELECT SUM(CASE WHEN (LENGTH(notes) * 1000000000) BETWEEN 0 AND 100 THEN LENGTH(notes) * 1000000000 END) FROM visits

-- A mean of text.
SELECT AVG(name) FROM people;
--code> type_mismatch
--remedy> SELECT COUNT(name) FROM people

-- A column that is not grouped.
SELECT sex, city, COUNT(*) FROM people GROUP BY sex;
--code> column_not_grouped
--remedy> SELECT sex, city, COUNT(*) FROM people GROUP BY sex, city

-- An aggregate in WHERE.
SELECT ward FROM visits WHERE COUNT(*) > 3 GROUP BY ward;
--code> aggregate_inside
--remedy> SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 3

-- An aggregate in an aggregate.
SELECT AVG(SUM(cost)) FROM visits GROUP BY ward;
--code> aggregate_inside
--remedy> SELECT SUM(cost) FROM visits GROUP BY ward

-- A column that is not there.
SELECT AVG(heigth) FROM people;
--code> column_unknown
--remedy> SELECT AVG(height) FROM people

-- A table that is not there.
SELECT COUNT(*) FROM patients;
--code> table_unknown

-- A column that two tables have.
SELECT COUNT(*) FROM visits JOIN wards ON TRUE WHERE ward = 'surgery';
--code> column_ambiguous
--remedy> SELECT COUNT(*) FROM visits JOIN wards ON TRUE WHERE visits.ward = 'surgery'

-- Two tables of one name.
SELECT COUNT(*) FROM visits v JOIN people v ON TRUE;
--code> alias_twice
--remedy> SELECT COUNT(*) FROM visits AS v JOIN people AS v_2 ON TRUE WHERE v.person_id = v_2.person_id

-- A key without a precision.
SELECT weight, COUNT(*) FROM people GROUP BY weight;
--code> key_not_rounded
--remedy> SELECT ROUND(weight, 2), COUNT(*) FROM people GROUP BY ROUND(weight, 2)

-- Different values without a precision.
SELECT COUNT(DISTINCT weight) FROM people;
--code> distinct_real
--remedy> SELECT COUNT(DISTINCT ROUND(weight, 2)) FROM people

-- A sum of different values.
SELECT SUM(DISTINCT cost) FROM visits;
--code> values_unknown

-- What the clock says.
SELECT COUNT(*) FROM people WHERE born < CURRENT_DATE - INTERVAL 18 YEAR;
--code> construct_unsupported
--remedy> SELECT COUNT(*) FROM people WHERE born < CAST('2026-01-31' AS DATE) - INTERVAL '18' YEAR

-- A sample.
SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT;
--code> clause_unsupported
--remedy> SELECT COUNT(*) FROM people

-- A question that never ends.
WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r;
--code> clause_unsupported

-- Two questions.
SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM visits;
--code> one_statement
--remedy> SELECT COUNT(*) FROM people

-- Not a question.
DELETE FROM people;
--code> not_a_select
--remedy> SELECT COUNT(*) FROM people

-- Files of the machine.
SELECT COUNT(*) FROM read_csv('/etc/passwd');
--code> not_a_table

-- Functions that do not exist.
SELECT AVG(squareroot(cost)) FROM visits;
--code> construct_unsupported

-- Wards without visits counted as one each.
SELECT w.kind, COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.kind;
--code> orphans_counted
--remedy> SELECT w.kind, COUNT(v.visit_id) FROM wards AS w LEFT JOIN visits AS v ON v.ward = w.ward GROUP BY w.kind

-- A position that is not there.
SELECT ward, COUNT(*) FROM visits GROUP BY 3;
--code> position_invalid
--remedy> SELECT ward, COUNT(*) FROM visits GROUP BY ward

-- A limit that is not a number.
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT ALL;
--code> limit_invalid
--remedy> SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 10
