import { useQuery } from '@tanstack/react-query';
import { pools } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Notice } from '../../parts/panel.tsx';
import { texts } from '../../texts.ts';
import { Pool } from './pool.tsx';

/** The page of pools: the state at each balancer, and the members. */
export const BalancersPage = () => (
  <>
    <h1>{texts.pages.balancers}</h1>
    <Loaded query={useQuery(pools)}>
      {(all) =>
        all.length === 0 ? (
          <Notice tone="quiet" title={texts.balancers.none} />
        ) : (
          all.map((pool) => <Pool key={`${pool.pool}@${pool.balancer}`} {...pool} />)
        )
      }
    </Loaded>
  </>
);
