-- What cannot be asked of a shop.

-- The best customers (TPC-H's eighteenth question).
SELECT c.country, o.order_id, SUM(i.quantity) FROM customers c JOIN orders o USING (customer_id) JOIN items i USING (order_id) GROUP BY c.country, o.order_id ORDER BY 3 DESC LIMIT 100;
--code> returns_individuals

-- Customers by number.
SELECT customer_id, SUM(shipping) AS spent FROM orders GROUP BY customer_id ORDER BY spent DESC LIMIT 10;
--code> returns_individuals

-- Rows of orders (TPC-H's third question).
SELECT o.ordered, o.shipping FROM orders o WHERE o.channel = 'web' ORDER BY o.shipping DESC LIMIT 10;
--code> returns_rows
--remedy> SELECT o.ordered, o.shipping, COUNT(*) FROM orders AS o WHERE o.channel = 'web' GROUP BY o.ordered, o.shipping

-- Two customers who bought the same.
SELECT COUNT(*) FROM items a JOIN items b ON a.sku = b.sku WHERE a.returned AND NOT b.returned;
--code> join_across_units

-- Products sold to more than ten people, exactly.
SELECT COUNT(*) FROM (SELECT sku FROM items GROUP BY sku HAVING COUNT(*) > 10) AS popular;
--code> subquery_across_units

-- Orders above the mean of all.
SELECT COUNT(*) FROM orders WHERE shipping > (SELECT AVG(shipping) FROM orders);
--code> subquery_across_units

-- Items above the mean of their product.
SELECT COUNT(*) FROM items i WHERE i.quantity > (SELECT AVG(j.quantity) FROM items j WHERE j.sku = i.sku);
--code> subquery_across_units

-- Which coupon is most common.
SELECT MODE(coupon) FROM orders;
--code> construct_unsupported

-- A list of quantiles.
SELECT QUANTILE_CONT(price, [0.25, 0.5, 0.75]) FROM items;
--code> quantile_list

-- A quantile beyond one.
SELECT QUANTILE_CONT(price, 1.5) FROM items;
--code> quantile_invalid

-- An INTERSECT inside.
SELECT COUNT(*) FROM (SELECT customer_id FROM orders INTERSECT SELECT customer_id FROM customers) AS x;
--code> subquery_unsupported

-- Unlike columns in UNION.
SELECT COUNT(*) FROM (SELECT channel, shipping FROM orders UNION ALL SELECT segment FROM customers) AS x;
--code> union_columns

-- A WITH that nothing reads.
WITH o AS (SELECT channel FROM orders) SELECT COUNT(*) FROM customers;
--code> with_unread

-- A pivot.
SELECT * FROM orders PIVOT (COUNT(*) FOR channel IN ('web', 'shop'));
--code> clause_unsupported

-- A lateral join.
SELECT COUNT(*) FROM customers c, LATERAL (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id LIMIT 1) AS x;
--code> not_a_table

-- A limit inside.
SELECT COUNT(*) FROM (SELECT shipping FROM orders LIMIT 10) AS x;
--code> clause_unsupported
