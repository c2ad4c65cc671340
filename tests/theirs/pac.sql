CREATE TABLE customer (c_id BIGINT, segment VARCHAR, balance DOUBLE, nation INTEGER);
INSERT INTO customer VALUES (1, 'auto', 10.5, 1), (2, 'food', -3.0, 2);
CREATE TABLE sale (s_id BIGINT, c_id BIGINT, price DOUBLE, quantity INTEGER, day DATE, item VARCHAR);
INSERT INTO sale VALUES (10, 1, 5.0, 1, DATE '2021-01-05', 'p'), (11, 2, 7.5, 3, DATE '2021-02-05', 'q'), (12, 2, 1.5, 9, DATE '2021-02-07', 'p');
CREATE TABLE nation (n_id INTEGER, n_name VARCHAR, n_people INTEGER);
INSERT INTO nation VALUES (1, 'Peru', 33), (2, 'Chad', 17);

SELECT COUNT(*) FROM main.customer;
SELECT SUM(price * quantity) AS revenue FROM sale;
SELECT segment, COUNT(*) AS n FROM main.customer AS c GROUP BY ALL;
SELECT item, SUM(quantity) AS q, AVG(price) AS p, COUNT(*) AS n FROM sale WHERE day <= DATE '2021-12-01' GROUP BY item ORDER BY item;
SELECT c.segment, SUM(s.price * (1 - 0.1)) AS revenue FROM customer c JOIN sale s ON c.c_id = s.c_id GROUP BY c.segment ORDER BY revenue DESC LIMIT 10;
SELECT n.n_name, COUNT(*) FROM customer c JOIN nation n ON c.nation = n.n_id GROUP BY n.n_name;
SELECT n.n_people, COUNT(*) FROM customer c JOIN nation n ON c.nation = n.n_id GROUP BY n.n_people;
SELECT n.n_name, SUM(n.n_people) FROM customer c JOIN nation n ON c.nation = n.n_id GROUP BY n.n_name;
SELECT c.nation, COUNT(*) FROM customer c JOIN nation n ON c.nation = n.n_id GROUP BY c.nation;
SELECT YEAR(day) AS y, MONTH(day) AS m, SUM(price) FROM sale WHERE day BETWEEN DATE '2021-01-01' AND DATE '2021-12-31' GROUP BY y, m;
SELECT COUNT(*) FROM sale WHERE c_id = 1;
SELECT AVG(balance) FROM customer WHERE c_id % 2 = 0;
SELECT SUM(balance) FROM customer JOIN nation ON customer.c_id = nation.n_id;
SELECT MAX(day) FROM sale;
SELECT QUANTILE_CONT(price, 0.9), MEDIAN(day) FROM sale;
SELECT COUNT(*) FILTER (WHERE price > 2) AS dear, COUNT(*) AS n FROM sale;
SELECT quantity // 5 AS fives, COUNT(*) FROM sale GROUP BY quantity // 5;
SELECT quantity / 5 AS fifths, COUNT(*) FROM sale GROUP BY quantity / 5;
SELECT VAR_SAMP(price), STDDEV_SAMP(price), VAR_POP(quantity) FROM sale;
SELECT COUNT(*) FROM customer WHERE NOT EXISTS (SELECT * FROM sale WHERE sale.c_id = customer.c_id AND sale.price > 6);
SELECT cnt, COUNT(*) AS dist FROM (SELECT c.c_id, COUNT(s.s_id) AS cnt FROM customer c LEFT OUTER JOIN sale s ON c.c_id = s.c_id GROUP BY c.c_id) AS t (c_id, cnt) GROUP BY cnt ORDER BY dist DESC, cnt DESC;
SELECT 100.0 * SUM(CASE WHEN item LIKE 'p%' THEN price ELSE 0 END) / SUM(price) AS promo FROM sale;
SELECT SUM(price) / 7.0 AS weekly FROM sale WHERE quantity < (SELECT 0.2 * AVG(quantity) + 5 FROM sale AS i WHERE i.c_id = sale.c_id);
SELECT item, COUNT(DISTINCT c_id) AS buyers FROM sale WHERE item NOT IN ('z') GROUP BY item HAVING COUNT(DISTINCT c_id) > 0;
SELECT AVG(DISTINCT quantity), SUM(DISTINCT quantity) FROM sale;
SELECT SUM(price) FROM sale WHERE day >= DATE '2021-01-01' AND day < DATE '2021-01-01' + INTERVAL '1' YEAR;
SELECT segment, item, SUM(price) FROM customer JOIN sale USING (c_id) GROUP BY ROLLUP (segment, item);
-- over statistics
SELECT SUM(SUM(price)) OVER () FROM sale GROUP BY item;
-- over statistics
SELECT item FROM (SELECT item, SUM(price) AS r FROM sale GROUP BY item) AS t WHERE r = (SELECT MAX(r) FROM (SELECT SUM(price) AS r FROM sale GROUP BY item) AS u);
-- over statistics
SELECT COUNT(*) FROM customer WHERE balance > (SELECT AVG(balance) FROM customer WHERE balance > 0);
SELECT n_name FROM nation WHERE n_people > 20;
SELECT COUNT(*), SUM(n_people) FROM nation;
-- unanswerable: rows
SELECT c_id, balance FROM customer ORDER BY balance DESC LIMIT 3;
-- unanswerable: individuals
SELECT c.c_id, SUM(price) FROM customer c JOIN sale USING (c_id) GROUP BY c.c_id;
-- over statistics
SELECT item, SUM(price) AS revenue, 100.0 * SUM(price) / (SELECT SUM(price) FROM sale) AS pct FROM sale GROUP BY item;
SELECT n.n_name, AVG(c.balance) AS b FROM nation n LEFT JOIN customer c ON c.nation = n.n_id GROUP BY n.n_name;
SELECT COUNT(*) FROM sale WHERE price BETWEEN 1 AND 5 AND quantity < 24 AND day >= DATE '2021-01-01';
-- over statistics
SELECT segment, COUNT(*) AS n FROM customer WHERE balance > (SELECT AVG(balance) FROM customer) GROUP BY segment;
SELECT SUM(price * quantity) FILTER (WHERE item = 'p1') / SUM(price * quantity) AS share FROM sale;
SELECT strftime(day, '%Y-%m') AS m, SUM(price) FROM sale GROUP BY m ORDER BY m;
SELECT c.segment, MAX(s.price), MIN(s.price), AVG(s.quantity) FROM customer c, sale s WHERE c.c_id = s.c_id GROUP BY c.segment;
-- unanswerable: any row decides
SELECT FIRST(item) FROM sale;
SELECT quarter(day) AS q, COUNT(DISTINCT c_id) FROM sale GROUP BY q;
SELECT SUM(price)::DECIMAL(15, 2) AS s FROM sale;
-- over statistics
SELECT a.item, a.n AS y21, b.n AS y22 FROM (SELECT item, COUNT(*) AS n FROM sale WHERE YEAR(day) = 2021 GROUP BY item) a FULL OUTER JOIN (SELECT item, COUNT(*) AS n FROM sale WHERE YEAR(day) = 2022 GROUP BY item) b ON a.item = b.item;
-- over statistics
SELECT item, n FROM (SELECT item, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r FROM sale GROUP BY item) t WHERE r <= 3;
SELECT COUNT(*) FROM customer ANTI JOIN sale USING (c_id);
FROM sale SELECT item, COUNT(*) GROUP BY item;
SELECT item, COUNT(*) FROM sale GROUP BY item ORDER BY ALL;
-- over statistics
SELECT n_name, c_count FROM (SELECT n.n_name, COUNT(c.c_id) AS c_count FROM nation n LEFT JOIN customer c ON c.nation = n.n_id GROUP BY n.n_name) t WHERE c_count > 0;
