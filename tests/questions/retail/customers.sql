-- What customers do over time: baskets, cohorts, first and repeated orders.

-- How many orders customers have.
SELECT n, COUNT(*) AS customers FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t GROUP BY n HAVING COUNT(*) > 0 ORDER BY n;
--plan> reads orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 11 values of a subquery's c1
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The same with those who have none (TPC-H's thirteenth question).
SELECT n, COUNT(*) AS customers FROM (SELECT c.customer_id, COUNT(o.order_id) AS n FROM customers c LEFT OUTER JOIN orders o ON c.customer_id = o.customer_id AND o.status <> 'lost' GROUP BY c.customer_id) AS t GROUP BY n HAVING COUNT(*) > 0 ORDER BY customers DESC, n DESC;
--plan> reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 11 values of a subquery's c1
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Repeat customers in percent.
SELECT 100.0 * COUNT_IF(n > 1) / COUNT(*) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) AS t;
--plan> reads orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of case(greater(a subquery's c1, 1), 1, 0): L1 1, Linf 1, L2² 1; DiscreteGaussian
--plan> units: L1 1, Linf 1, L2² 1; DiscreteGaussian

-- The mean basket.
SELECT AVG(total), COUNT(*) FROM (SELECT order_id, SUM(quantity * price) AS total FROM items GROUP BY order_id) AS baskets;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 0.005 from 20000000: L1 800000000, Linf 800000000, L2² 640000000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 800000000, Linf 800000000, L2² 640000000000000000; SummedNoise
--plan> rows: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- The size of baskets.
SELECT pieces, COUNT(*) FROM (SELECT order_id, COUNT(*) AS pieces FROM items GROUP BY order_id) AS b GROUP BY pieces HAVING COUNT(*) > 0 ORDER BY pieces;
--plan> reads items; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: public, 41 values of a subquery's c1
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Large baskets.
SELECT COUNT(*) FROM (SELECT order_id FROM items GROUP BY order_id HAVING SUM(quantity) > 5) AS b;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- What a customer spends in all.
SELECT AVG(spent), STDDEV_SAMP(spent) FROM (SELECT o.customer_id, SUM(i.price * i.quantity) AS spent FROM orders o JOIN items i ON i.order_id = o.order_id GROUP BY o.customer_id) AS t;
--plan> reads orders, items; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1 in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> sum of power(subtract(a subquery's c1, 100000.0), 2) in steps of 512.0 from 9765625: L1 9765625, Linf 9765625, L2² 95367431640625; DiscreteLaplace

-- What a customer spends, by segment.
SELECT c.segment, AVG(t.spent) FROM customers c JOIN (SELECT o.customer_id, SUM(i.price * i.quantity) AS spent FROM orders o JOIN items i USING (order_id) GROUP BY o.customer_id) AS t ON t.customer_id = c.customer_id WHERE c.segment IS NOT NULL GROUP BY c.segment;
--plan> reads customers, orders, items; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, consumer/corporate/home office of segment
--plan> sum of a subquery's c1 in steps of 0.005 from 20000000: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 20000000, Linf 20000000, L2² 400000000000000; SummedNoise

-- Customers who bought from two categories.
SELECT COUNT(*) FROM (SELECT o.customer_id, COUNT(DISTINCT p.category) AS k FROM orders o JOIN items i USING (order_id) JOIN products p USING (sku) GROUP BY o.customer_id) AS t WHERE k >= 2;
--plan> reads orders, items, products; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Customers who bought a television and later a chair.
SELECT COUNT(DISTINCT a.customer_id) FROM orders a JOIN items x ON x.order_id = a.order_id, orders b JOIN items y ON y.order_id = b.order_id WHERE a.customer_id = b.customer_id AND x.sku LIKE 'TV%' AND y.sku = 'CH-7' AND b.ordered >= a.ordered;
--plan> reads orders, items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Customers with an order but without a return.
SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id) AND NOT EXISTS (SELECT 1 FROM orders o JOIN items i ON i.order_id = o.order_id WHERE o.customer_id = c.customer_id AND i.returned);
--plan> reads customers, orders, items; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Orders that hold something of a category.
SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM items i JOIN products p ON p.sku = i.sku WHERE i.order_id = o.order_id AND p.category = 'office');
--plan> reads orders, items, products; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Orders without items.
SELECT COUNT(*) FROM orders WHERE order_id NOT IN (SELECT order_id FROM items);
--plan> reads orders, items; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Customers of north stores.
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE store IN (SELECT store FROM stores WHERE region = 'north');
--plan> reads orders, stores; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- New customers by month of their first order.
SELECT DATE_TRUNC('month', first) AS month, COUNT(*) FROM (SELECT customer_id, MIN(ordered) AS first FROM orders GROUP BY customer_id) AS t WHERE first IS NOT NULL GROUP BY month HAVING COUNT(*) > 0 ORDER BY month;
--plan> reads orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 24 values of trunc_month(a subquery's c1)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- First channel and how many orders followed.
WITH ranked AS (SELECT customer_id, channel, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered, order_id) AS place FROM orders) SELECT channel, COUNT(*) FROM ranked WHERE place = 1 AND channel IS NOT NULL GROUP BY channel;
--plan> reads orders; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> groups: public, web/shop/phone of channel
--plan> rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- The last status of a customer.
SELECT status, COUNT(*) FROM (SELECT status FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered DESC NULLS LAST, order_id) = 1) AS t WHERE status IS NOT NULL GROUP BY status;
--plan> reads orders; protects customer_id, at most 10 rows in 10 groups, 10 in one
--plan> groups: selected privately, by status
--plan> rows scaled to L2² 31 rows in parts of 1/131072: L1 532575944704, Linf 729778, L2² 532575944704; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3239, Linf 1024, L2² 1048576; DiscreteGaussian

-- Days between orders.
SELECT AVG(ordered - earlier) FROM (SELECT ordered, LAG(ordered) OVER (PARTITION BY customer_id ORDER BY ordered) AS earlier FROM orders WHERE ordered IS NOT NULL) AS t;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of diff_day(a subquery's c1, ordered) in steps of 0.5: L1 467200, Linf 467200, L2² 218275840000; SummedNoise
--plan> rows with a value of diff_day(a subquery's c1, ordered): L1 467200, Linf 467200, L2² 218275840000; SummedNoise

-- Orders with how many the customer has in all.
SELECT AVG(n) FROM (SELECT COUNT(*) OVER (PARTITION BY customer_id) AS n FROM orders) AS t;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of a subquery's c0 from 5: L1 50, Linf 50, L2² 2500; DiscreteGaussian
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteGaussian

-- The share of an order in what a customer paid for shipping.
SELECT AVG(share) FROM (SELECT shipping / NULLIF(SUM(shipping) OVER (PARTITION BY customer_id), 0) AS share FROM orders) AS t WHERE share BETWEEN 0 AND 1;
--duckdb> SELECT AVG(share) FROM (SELECT shipping / NULLIF(SUM(shipping::DOUBLE) OVER (PARTITION BY customer_id), 0) AS share FROM orders) AS t WHERE share BETWEEN 0 AND 1
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> sum of a subquery's c0 in steps of 1/33554432 from 16777216: L1 167772160, Linf 167772160, L2² 28147497671065600; SummedNoise
--plan> rows: L1 167772160, Linf 167772160, L2² 28147497671065600; SummedNoise

-- Running totals of shipping that pass a threshold.
SELECT COUNT(*) FROM (SELECT SUM(shipping) OVER (PARTITION BY customer_id ORDER BY ordered, order_id) AS so_far FROM orders) AS t WHERE so_far > 20;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- A mean of the customer beside each order.
SELECT COUNT(*) FROM (SELECT shipping, AVG(shipping) OVER (PARTITION BY customer_id) AS usual FROM orders) AS t WHERE shipping > usual;
--plan> reads orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- A conversion from the web to the shop.
WITH c AS (SELECT customer_id, MAX(CASE WHEN channel = 'web' THEN 1 ELSE 0 END) AS web, MAX(CASE WHEN channel = 'shop' THEN 1 ELSE 0 END) AS shop FROM orders GROUP BY customer_id) SELECT SUM(web) AS web, SUM(web * shop) AS both_channels, SUM(web * shop) * 1.0 / SUM(web) AS rate FROM c;
--plan> reads orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of a subquery's c1: L1 1, Linf 1, L2² 1; DiscreteLaplace
--plan> sum of multiply(a subquery's c1, a subquery's c2): L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Cohorts by year of joining, with orders.
SELECT YEAR(c.joined) AS cohort, COUNT(DISTINCT c.customer_id) AS customers, COUNT(o.order_id) AS orders FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE c.joined IS NOT NULL GROUP BY cohort ORDER BY cohort;
--plan> reads customers, orders; protects customer_id, at most 10 rows in 5 groups, 10 in one
--plan> groups: public, 5 values of part_year(joined)
--plan> units: L1 5, Linf 1, L2² 5; DiscreteLaplace
--plan> rows with a value of order_id scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Orders within a year of joining.
SELECT COUNT(*) FROM customers c JOIN orders o ON o.customer_id = c.customer_id WHERE o.ordered BETWEEN c.joined AND c.joined + INTERVAL 1 YEAR;
--plan> reads customers, orders; protects customer_id, at most 10 rows in 1 group, 10 in one
--plan> groups: one
--plan> rows: L1 10, Linf 10, L2² 100; DiscreteLaplace

-- Joined but never ordered, by newsletter.
SELECT newsletter, COUNT(*) FROM customers c WHERE newsletter IS NOT NULL AND customer_id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL) GROUP BY newsletter;
--plan> reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, False/True of newsletter
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- TPC-H's fourth question.
SELECT o.channel, COUNT(*) AS orders FROM orders o WHERE o.ordered >= DATE '2023-07-01' AND o.ordered < DATE '2023-07-01' + INTERVAL 3 MONTH AND EXISTS (SELECT * FROM items i WHERE i.order_id = o.order_id AND i.quantity > 1) AND o.channel IS NOT NULL GROUP BY o.channel ORDER BY o.channel;
--plan> reads orders, items; protects customer_id, at most 10 rows in 3 groups, 10 in one
--plan> groups: public, web/shop/phone of channel
--plan> rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- TPC-H's twenty-second question.
SELECT country, COUNT(*) AS customers, AVG(age) FROM (SELECT SUBSTRING(phone, 2, 2) AS country, age FROM customers c WHERE age > 20 AND NOT EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.customer_id)) AS sale WHERE country IS NOT NULL GROUP BY country ORDER BY country;
--plan> reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: selected privately, by a subquery's c0
--plan> units: L1 1, Linf 1, L2² 1; TruncatedGeometric
--plan> sum of age from 55: L1 35, Linf 35, L2² 1225; DiscreteLaplace

-- TPC-H's seventeenth question, within a customer.
SELECT SUM(i.price) / 7.0 FROM orders o JOIN items i ON i.order_id = o.order_id JOIN products p ON p.sku = i.sku WHERE p.category = 'office' AND i.quantity <= (SELECT AVG(j.quantity) FROM orders q JOIN items j ON j.order_id = q.order_id WHERE q.customer_id = o.customer_id);
--plan> reads orders, items, products; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> sum of price in steps of 0.01 scaled to L1 2000000 in parts of 1/1: L1 2000000, Linf 2000000, L2² 4000000000000; DiscreteLaplace

-- Events of two tables in one.
SELECT what, YEAR(day) AS y, COUNT(*) FROM (SELECT 'joined' AS what, joined AS day FROM customers UNION ALL SELECT 'ordered', ordered FROM orders) AS e WHERE day IS NOT NULL GROUP BY what, y HAVING COUNT(*) > 0;
--plan> reads customers, orders; protects customer_id, at most 11 rows in 11 groups, 11 in one
--plan> groups: selected privately, by a subquery's c0, part_year(a subquery's c1)
--plan> rows scaled to L2² 36 rows in parts of 1/131072: L1 618475290624, Linf 786432, L2² 618475290624; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3397, Linf 1024, L2² 1048576; DiscreteGaussian

-- Customers in a list made of two.
WITH active AS (SELECT customer_id FROM orders WHERE ordered >= '2024-07-01' UNION SELECT customer_id FROM customers WHERE newsletter) SELECT COUNT(*) FROM active;
--plan> reads orders, customers; protects customer_id, at most 11 rows in 1 group, 11 in one
--plan> groups: one
--plan> rows: L1 11, Linf 11, L2² 121; DiscreteLaplace

-- Customers who are in both lists.
SELECT COUNT(*) FROM customers WHERE newsletter AND customer_id IN (SELECT customer_id FROM orders WHERE channel = 'web');
--plan> reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- A basket's most expensive item.
SELECT COUNT_IF(most > 400), AVG(most) FROM (SELECT order_id, MAX(price) AS most FROM items GROUP BY order_id) AS t;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows with a value of case(greater(a subquery's c1, 400), 1, None): L1 40, Linf 40, L2² 1600; DiscreteLaplace
--plan> sum of a subquery's c1 in steps of 0.005 from 50000: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise
--plan> rows with a value of a subquery's c1: L1 2000000, Linf 2000000, L2² 4000000000000; SummedNoise

-- A customer's favourite number of pieces.
SELECT QUANTILE_DISC(pieces, 0.5), QUANTILE_DISC(pieces, 0.9) FROM (SELECT order_id, SUM(quantity) AS pieces FROM items GROUP BY order_id) AS t;
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows on either side of a value of a subquery's c1 at 1/2, 9/10 in steps of 1/1048576: L1 61050400, Linf 61050400, L2² 3727151340160000; Geometric
--plan> rows between values around the picked ones: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- Orders by weekday and weekend.
SELECT CASE WHEN DAYOFWEEK(ordered) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS kind, COUNT(*) FROM orders WHERE ordered IS NOT NULL GROUP BY kind;
--plan> reads orders; protects customer_id, at most 10 rows in 2 groups, 10 in one
--plan> groups: public, weekend/weekday of case(in(part_dayofweek(ordered), 0, 6), 'weekend', 'weekday')
--plan> rows scaled to L1 10 rows in parts of 1/65536: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace

-- Recency at the end of the year.
SELECT CASE WHEN since <= 90 THEN '0-90' WHEN since <= 365 THEN '91-365' ELSE 'longer' END AS recency, COUNT(*) FROM (SELECT customer_id, DATE_DIFF('day', MAX(ordered), DATE '2024-12-31') AS since FROM orders GROUP BY customer_id) AS t WHERE since IS NOT NULL GROUP BY recency;
--plan> reads orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 0-90/91-365/longer of case(less_equal(a subquery's c1, 90), '0-90', less_equal(a subquery's c1, 365), '91-365', 'longer')
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Each product of a customer once.
SELECT sku, COUNT(*) AS buyers FROM (SELECT DISTINCT o.customer_id, i.sku FROM orders o JOIN items i USING (order_id)) AS t WHERE sku IS NOT NULL GROUP BY sku ORDER BY buyers DESC, sku;
--plan> reads orders, items; protects customer_id, at most 40 rows in 40 groups, 40 in one
--plan> groups: selected privately, by sku
--plan> rows scaled to L1 40 rows in parts of 1/16384: L1 655360, Linf 655360, L2² 429496729600; DiscreteLaplace
--plan> units: L1 40, Linf 1, L2² 40; TruncatedGeometric

-- Pairs of products in one order.
SELECT COUNT(*) FROM items a JOIN items b ON a.order_id = b.order_id AND a.sku = 'PEN' AND b.sku = 'PAPER';
--plan> reads items; protects customer_id, at most 40 rows in 1 group, 40 in one
--plan> groups: one
--plan> rows: L1 40, Linf 40, L2² 1600; DiscreteLaplace

-- Customers who have ordered.
SELECT COUNT(*) FROM (SELECT customer_id FROM orders INTERSECT SELECT customer_id FROM customers) AS x;
--plan> reads orders, customers; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Customers who have ordered nothing on the web.
SELECT COUNT(*) FROM (SELECT customer_id FROM customers EXCEPT SELECT o.customer_id FROM orders o WHERE o.channel = 'web') AS x;
--plan> reads customers, orders; protects customer_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace
