-- the usual text lists suppliers by what all customers bought of each of their parts; here how much was bought of
-- the parts in question, by supplier of the country
select s_name, sum(l_quantity) as bought
from lineitem, supplier, nation
where l_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'CANADA'
  and l_partkey in (select p_partkey from part where p_name like 'forest%')
  and l_shipdate >= date '1994-01-01' and l_shipdate < date '1994-01-01' + interval '1' year
group by s_name
order by s_name
