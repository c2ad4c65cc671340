CREATE TABLE customer (custkey BIGINT, name VARCHAR, nationkey INTEGER, acctbal DOUBLE, mktsegment VARCHAR, phone VARCHAR);
INSERT INTO customer VALUES (1, 'c1', 1, 100.0, 'BUILDING', '13-1'), (2, 'c2', 2, -5.0, 'MACHINERY', '31-1');
CREATE TABLE orders (orderkey BIGINT, custkey BIGINT, status VARCHAR, totalprice DOUBLE, orderdate DATE, priority VARCHAR, comment VARCHAR);
INSERT INTO orders VALUES (7, 1, 'O', 900.0, DATE '1995-01-01', '1-URGENT', 'x'), (8, 2, 'F', 90.0, DATE '1994-05-01', '5-LOW', 'special requests');
CREATE TABLE lineitem (orderkey BIGINT, partkey INTEGER, linenumber INTEGER, quantity DOUBLE, price DOUBLE, discount DOUBLE, tax DOUBLE, returned VARCHAR, linestatus VARCHAR, shipdate DATE, commitdate DATE, receiptdate DATE, shipmode VARCHAR);
INSERT INTO lineitem VALUES (7, 1, 1, 10, 1000, 0.05, 0.02, 'N', 'O', DATE '1995-02-01', DATE '1995-03-01', DATE '1995-03-05', 'MAIL'), (8, 2, 1, 30, 500, 0.07, 0.0, 'R', 'F', DATE '1994-06-01', DATE '1994-06-10', DATE '1994-06-09', 'SHIP');
CREATE TABLE nation (n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER);
INSERT INTO nation VALUES (1, 'PERU', 1), (2, 'CHAD', 2);
CREATE TABLE part (p_partkey INTEGER, brand VARCHAR, container VARCHAR, size INTEGER);
INSERT INTO part VALUES (1, 'Brand#23', 'MED BOX', 3), (2, 'Brand#12', 'SM BOX', 14);

SELECT returned, linestatus, SUM(quantity) AS q, SUM(price * (1 - discount)) AS d, SUM(price * (1 - discount) * (1 + tax)) AS charge, AVG(quantity), AVG(discount), COUNT(*) FROM lineitem WHERE shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY returned, linestatus ORDER BY returned, linestatus;
SELECT SUM(price * discount) AS revenue FROM lineitem WHERE shipdate >= DATE '1994-01-01' AND shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND quantity < 24;
SELECT priority, COUNT(*) FROM orders WHERE orderdate >= DATE '1993-07-01' AND EXISTS (SELECT * FROM lineitem WHERE lineitem.orderkey = orders.orderkey AND commitdate < receiptdate) GROUP BY priority ORDER BY priority;
SELECT n_name, SUM(price * (1 - discount)) AS revenue FROM customer, orders, lineitem, nation WHERE customer.custkey = orders.custkey AND lineitem.orderkey = orders.orderkey AND customer.nationkey = n_nationkey GROUP BY n_name ORDER BY revenue DESC;
SELECT o_year, SUM(CASE WHEN nation = 'PERU' THEN volume ELSE 0 END) / SUM(volume) AS share FROM (SELECT EXTRACT(YEAR FROM orderdate) AS o_year, price * (1 - discount) AS volume, n_name AS nation FROM customer, orders, lineitem, nation WHERE customer.custkey = orders.custkey AND lineitem.orderkey = orders.orderkey AND customer.nationkey = n_nationkey AND orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS all_nations GROUP BY o_year ORDER BY o_year;
SELECT shipmode, SUM(CASE WHEN priority = '1-URGENT' OR priority = '2-HIGH' THEN 1 ELSE 0 END) AS high FROM orders, lineitem WHERE orders.orderkey = lineitem.orderkey AND shipmode IN ('MAIL', 'SHIP') AND commitdate < receiptdate AND shipdate < commitdate GROUP BY shipmode ORDER BY shipmode;
SELECT c_count, COUNT(*) AS custdist FROM (SELECT customer.custkey, COUNT(orders.orderkey) FROM customer LEFT OUTER JOIN orders ON customer.custkey = orders.custkey AND comment NOT LIKE '%special%requests%' GROUP BY customer.custkey) AS c_orders (c_custkey, c_count) GROUP BY c_count ORDER BY custdist DESC, c_count DESC;
SELECT 100.00 * SUM(CASE WHEN brand LIKE 'Brand#2%' THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - discount)) AS promo FROM lineitem, part WHERE partkey = p_partkey AND shipdate >= DATE '1995-01-01';
SELECT SUM(price * (1 - discount)) AS revenue FROM lineitem, part WHERE (p_partkey = partkey AND brand = 'Brand#12' AND quantity >= 1 AND quantity <= 11 AND size BETWEEN 1 AND 5) OR (p_partkey = partkey AND brand = 'Brand#23' AND quantity >= 10 AND quantity <= 20 AND size BETWEEN 1 AND 10);
SELECT SUBSTRING(phone FROM 1 FOR 2) AS code, COUNT(*) AS n, SUM(acctbal) FROM customer WHERE SUBSTRING(phone FROM 1 FOR 2) IN ('13', '31') AND NOT EXISTS (SELECT * FROM orders WHERE orders.custkey = customer.custkey) GROUP BY code ORDER BY code;
SELECT COUNT(*) FROM customer WHERE custkey IN (SELECT custkey FROM orders WHERE totalprice > 100);
SELECT MIN(orderdate), MAX(shipdate) FROM orders JOIN lineitem ON orders.orderkey = lineitem.orderkey;
SELECT partkey, COUNT(*) FROM lineitem JOIN part ON partkey = p_partkey GROUP BY partkey;
SELECT COUNT(*) FROM orders WHERE orderkey IN (1, 2, 7);
-- over statistics
SELECT SUM(price) / 7.0 AS avg_yearly FROM lineitem, part WHERE p_partkey = partkey AND brand = 'Brand#23' AND quantity < (SELECT 0.2 * AVG(quantity) FROM lineitem WHERE partkey = p_partkey);
-- over statistics
SELECT COUNT(*) FROM customer WHERE acctbal > (SELECT AVG(acctbal) FROM customer WHERE acctbal > 0.00);
-- over statistics
WITH revenue AS (SELECT partkey AS p, SUM(price) AS total FROM lineitem GROUP BY partkey) SELECT p, total FROM revenue WHERE total = (SELECT MAX(total) FROM revenue);
-- unanswerable: individuals
SELECT lineitem.orderkey, SUM(price) AS revenue, orderdate FROM orders, lineitem WHERE lineitem.orderkey = orders.orderkey GROUP BY lineitem.orderkey, orderdate ORDER BY revenue DESC LIMIT 10;
-- unanswerable: individuals
SELECT customer.custkey, name, SUM(price) FROM customer, orders, lineitem WHERE customer.custkey = orders.custkey AND lineitem.orderkey = orders.orderkey GROUP BY customer.custkey, name;
