import { useQuery } from '@tanstack/react-query';
import { plan } from '../../api/resources.ts';
import { useView } from '../../live/connection.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { texts } from '../../texts.ts';
import { PoolPlanPanel } from './pool-plan.tsx';
import { ProviderPlanPanel } from './provider-plan.tsx';
import { WorkPlanPanel } from './work-plan.tsx';

/** The page of the plan: what provisioners, recovery and balancers would do next. */
export function PlanPage() {
  useView({ view: 'fleet' });
  return (
    <div className="plan-page">
      <h1>{texts.pages.plan}</h1>
      <p className="quiet">{texts.plan.about}</p>
      <Loaded query={useQuery(plan)}>
        {({ providers, work, pools }) => (
          <div className="stack" data-ready>
            {work.map((each) => (
              <WorkPlanPanel key={each.work} {...each} />
            ))}
            {providers.map((each) => (
              <ProviderPlanPanel key={each.provider} {...each} />
            ))}
            {pools.map((each) => (
              <PoolPlanPanel key={`${each.pool} ${each.balancer}`} {...each} />
            ))}
          </div>
        )}
      </Loaded>
    </div>
  );
}
