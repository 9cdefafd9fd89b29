import type { ProviderPlan } from '../../api/resources.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Notice, Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { DoneBy } from './done-by.tsx';

type ProviderPlanBody = NonNullable<ProviderPlan['plan']>;

/** The plan of a provisioner: creations, slots that stay free, and findings. */
export const ProviderPlanPanel = (planned: ProviderPlan) => {
  const { provider, plan, unlisted, mayEraseDisks } = planned;
  return (
    <Panel
      title={texts.fleet.provider(provider)}
      aside={<DoneBy {...planned} />}
      className="provider-plan"
    >
      {unlisted !== null && (
        <Notice tone="bad" title={texts.fleet.notListed}>
          <p className="why">{unlisted}</p>
        </Notice>
      )}
      {mayEraseDisks && <p className="calls">{texts.fleet.erasing(provider)}</p>}
      {plan === null ? <p className="quiet">{texts.plan.notListed}</p> : <Plan {...plan} />}
    </Panel>
  );
};

const Plan = ({
  atMs,
  breaker,
  summary,
  overLimit,
  leftOut,
  service,
  ...told
}: ProviderPlanBody) => (
  <>
    {breaker !== null && (
      <Notice tone="bad" title={texts.plan.breaker}>
        <p className="why">{breaker}</p>
      </Notice>
    )}
    <p>
      {texts.plan.summary(summary)}{' '}
      <span className="quiet">
        (<Ago atMs={atMs} />)
      </span>
      {overLimit > 0 && <> {texts.plan.overLimit(overLimit)}</>}
      {service !== null && <> {texts.plan.service(service)}</>}
      {leftOut > 0 && <> {texts.plan.leftOut(leftOut)}</>}
    </p>
    <Creations {...told} />
    <Skipped {...told} />
    <Findings {...told} />
  </>
);

function Creations({
  creations,
  creationCount,
}: Pick<ProviderPlanBody, 'creations' | 'creationCount'>) {
  if (creationCount === 0) return <p className="quiet">{texts.plan.noCreations}</p>;
  return (
    <>
      <Table label={texts.plan.creations} columns={texts.plan.creationColumns}>
        {creations.map(({ slot, verdict, reason }) => (
          <tr key={slot} data-slot={slot}>
            <th scope="row">
              <MachineLink slot={slot} />
            </th>
            <td>{verdict}</td>
            <td className="why">{reason}</td>
          </tr>
        ))}
      </Table>
      {creationCount > creations.length && (
        <p className="quiet">{texts.providers.more(creationCount - creations.length)}</p>
      )}
    </>
  );
}

const Skipped = ({ skipped }: Pick<ProviderPlanBody, 'skipped'>) =>
  skipped.length > 0 && (
    <ul className="skipped">
      {skipped.map(({ reason, count }) => (
        <li key={reason}>{texts.plan.leftAlone(count, reason)}</li>
      ))}
    </ul>
  );

const Findings = ({ findings }: Pick<ProviderPlanBody, 'findings'>) =>
  findings.length > 0 && (
    <Table label={texts.plan.findings} columns={texts.plan.findingColumns} figures={[2]}>
      {findings.map(({ case: found, action, count, examples }) => (
        <tr key={`${found} ${action}`} data-case={found}>
          <th scope="row">{found}</th>
          <td>{action}</td>
          <td className="number">{texts.figure(count)}</td>
          <td className="why">
            {examples.slice(0, 3).map(({ slot, reason }) => (
              <span key={slot} className="example">
                <MachineLink slot={slot} /> {reason}
              </span>
            ))}
          </td>
        </tr>
      ))}
    </Table>
  );
