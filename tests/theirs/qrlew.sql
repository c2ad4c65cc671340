CREATE TABLE census (pid BIGINT, age INTEGER, workclass VARCHAR, education VARCHAR, sex VARCHAR, hours INTEGER, native VARCHAR);
INSERT INTO census VALUES (1, 30, 'Private', 'BA', 'Male', 40, 'US'), (2, 61, 'Self', 'MA', 'Female', 20, 'FR');
CREATE TABLE axa (id BIGINT, a DOUBLE, b VARCHAR);
INSERT INTO axa VALUES (1, 0.5, 'x'), (2, 9.5, 'y');
CREATE TABLE orders (order_id BIGINT, pid BIGINT, amount DOUBLE, made DATE);
INSERT INTO orders VALUES (10, 1, 20.0, DATE '2020-02-01'), (11, 1, 5.0, DATE '2020-03-05'), (12, 2, 50.0, DATE '2021-01-01');

SELECT COUNT(*) AS size FROM census;
SELECT AVG(age) AS average_age, SUM(hours) FROM census WHERE sex = 'Female';
SELECT education, COUNT(*) AS cnt, AVG(hours) AS h FROM census GROUP BY education;
SELECT sex, workclass, VARIANCE(age) AS v FROM census GROUP BY sex, workclass ORDER BY v DESC;
SELECT COUNT(DISTINCT education) AS d, COUNT(*) AS n FROM census;
SELECT SUM(DISTINCT hours) AS s FROM census;
SELECT sex, AVG(DISTINCT age) AS s FROM census GROUP BY sex;
SELECT STDDEV(DISTINCT hours) FROM census;
SELECT COUNT(a) AS n, SUM(a) AS total, AVG(a) AS mean FROM axa WHERE a > 1 AND a <= 9;
-- unanswerable: a real key
SELECT 10 * a AS scaled, COUNT(b) FROM axa GROUP BY 10 * a;
SELECT COUNT(*) FROM census JOIN orders ON census.pid = orders.pid;
SELECT c.sex, SUM(o.amount) AS spent FROM census AS c INNER JOIN orders AS o ON c.pid = o.pid GROUP BY c.sex;
SELECT sex, SUM(amount) FROM census JOIN orders USING (pid) GROUP BY sex;
SELECT COUNT(*) FROM census NATURAL JOIN orders;
SELECT c.education, COUNT(o.order_id) FROM census c LEFT JOIN orders o ON c.pid = o.pid WHERE o.amount > 3 GROUP BY c.education;
WITH spending AS (SELECT pid, SUM(amount) AS total FROM orders GROUP BY pid) SELECT AVG(total) FROM spending;
WITH t AS (SELECT age, sex FROM census WHERE hours > 10) SELECT sex, SUM(age) FROM t GROUP BY sex;
WITH t1 AS (SELECT a, b FROM axa), t2 AS (SELECT a AS x FROM t1 WHERE b = 'x') SELECT SUM(x) FROM t2;
SELECT EXTRACT(YEAR FROM made) AS y, SUM(amount) FROM orders GROUP BY y;
SELECT MIN(made) AS first, MAX(made) AS last FROM orders;
SELECT CASE WHEN age > 50 THEN 'old' ELSE 'young' END AS c, COUNT(*) FROM census GROUP BY CASE WHEN age > 50 THEN 'old' ELSE 'young' END;
SELECT age, sex, COUNT(*) FROM census WHERE age > 20 AND age < 90 GROUP BY age, sex;
SELECT DISTINCT sex FROM census;
SELECT DISTINCT age, sex FROM census WHERE age BETWEEN 20 AND 30;
SELECT LOWER(education) AS e, COUNT(*) FROM census GROUP BY LOWER(education);
SELECT COUNT(*) FROM census WHERE education LIKE 'B%' OR native IN ('US', 'FR');
SELECT SUM(amount) FROM orders WHERE pid IN (SELECT pid FROM census WHERE sex = 'Male');
SELECT COUNT(*) FROM census WHERE EXISTS (SELECT 1 FROM orders WHERE orders.pid = census.pid AND amount > 10);
SELECT COUNT(*) FROM census WHERE pid NOT IN (SELECT pid FROM orders WHERE amount > 40);
SELECT sex, COUNT(*) FROM (SELECT sex FROM census WHERE age > 20 UNION ALL SELECT sex FROM census WHERE hours > 30) AS u GROUP BY sex;
-- over statistics
SELECT 'men' AS who, COUNT(*) AS n FROM census WHERE sex = 'Male' UNION ALL SELECT 'women', COUNT(*) FROM census WHERE sex = 'Female';
-- over statistics
SELECT AVG(age) - (SELECT AVG(hours) FROM census) FROM census;
-- over statistics
SELECT COUNT(*) FROM census WHERE age > (SELECT AVG(age) FROM census);
-- over statistics
SELECT SUM(n) FROM (SELECT education, COUNT(*) AS n FROM census GROUP BY education) AS t;
SELECT ABS(AVG(age) - 40), EXP(LN(AVG(hours) + 50)) FROM census;
SELECT COUNT(*) FROM census WHERE age IN (30, 31) AND NOT workclass = 'Private';
SELECT COALESCE(workclass, 'none') AS w, COUNT(*) FROM census GROUP BY w;
SELECT SUM(CASE WHEN sex = 'Male' THEN 1 ELSE 0 END) AS men FROM census;
SELECT MEDIAN(age) FROM census;
SELECT AVG(amount) FROM orders WHERE made BETWEEN '2020-01-01' AND '2020-12-31';
-- unanswerable: individuals
SELECT pid, SUM(amount) FROM orders GROUP BY pid;
-- unanswerable: rows
SELECT a FROM axa;
-- unanswerable: rows of two units
SELECT census.age, o.age FROM census JOIN census AS o ON census.sex = o.sex;
SELECT AVG(x) AS a FROM (SELECT 2 * age AS x FROM census) AS t;
SELECT SUM(1) AS n FROM census WHERE workclass IS NULL;
SELECT COUNT(*) AS n FROM census AS c WHERE c.age BETWEEN 20 AND 30 AND c.education IN ('Bachelors', 'Masters');
SELECT sex, COUNT(*) AS c1, COUNT(DISTINCT age) AS c2, SUM(hours) AS s1, SUM(DISTINCT hours) AS s2 FROM census GROUP BY sex;
-- over statistics
WITH tot AS (SELECT COUNT(*) AS n FROM census), men AS (SELECT COUNT(*) AS m FROM census WHERE sex = 'Male') SELECT men.m * 1.0 / tot.n AS share FROM men, tot;
SELECT c.sex AS s, AVG(o.amount) AS m, STDDEV(o.amount) AS d FROM census c JOIN orders o ON (c.pid = o.pid) WHERE o.amount >= 0 GROUP BY c.sex;
SELECT 1 + COUNT(age) AS c FROM census GROUP BY sex;
SELECT CASE WHEN a IS NULL THEN 0 ELSE a END AS v, COUNT(*) FROM (SELECT ROUND(a) AS a FROM axa) AS t GROUP BY v;
SELECT SUM(sum_by) AS total FROM (SELECT pid, SUM(amount) AS sum_by FROM orders GROUP BY pid) AS t;
SELECT education, COUNT(*) AS n FROM census GROUP BY education HAVING COUNT(*) > 10 ORDER BY n DESC LIMIT 3;
SELECT COUNT(DISTINCT c.pid) AS n FROM census AS c LEFT JOIN orders AS o ON c.pid = o.pid WHERE o.pid IS NULL;
-- over statistics
SELECT x.sex, x.n, y.total FROM (SELECT sex, COUNT(*) AS n FROM census GROUP BY sex) x JOIN (SELECT c.sex, SUM(o.amount) AS total FROM census c JOIN orders o ON c.pid = o.pid GROUP BY c.sex) y ON x.sex = y.sex;
SELECT GREATEST(AVG(age), AVG(hours)) AS g, LEAST(MAX(age), 90) AS l FROM census;
SELECT EXTRACT(MONTH FROM made) AS m, COUNT(*) AS n, AVG(amount) AS a FROM orders WHERE EXTRACT(YEAR FROM made) = 2020 GROUP BY m ORDER BY m;
SELECT COUNT(*) FROM census WHERE CHAR_LENGTH(education) > 5 AND SUBSTRING(native, 1, 1) = 'U';
SELECT CONCAT(sex, '-', workclass) AS k, COUNT(*) FROM census GROUP BY CONCAT(sex, '-', workclass);
SELECT sex || '/' || workclass AS k, COUNT(*) FROM census GROUP BY 1;
SELECT age * hours AS w, COUNT(*) FROM census GROUP BY age * hours;
SELECT COUNT(*) FROM census WHERE (age, sex) IN ((30, 'Male'), (31, 'Female'));
SELECT SIGN(AVG(age) - 30) AS s, POW(AVG(hours), 2) AS p FROM census;
