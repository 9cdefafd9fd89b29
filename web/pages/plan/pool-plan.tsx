import type { PoolPlan } from '../../api/resources.ts';
import { Notice, Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { DoneBy } from './done-by.tsx';

type Told = NonNullable<PoolPlan['plan']>;

/** The plan of a pool at a balancer: actions and changes of members. */
export const PoolPlanPanel = (planned: PoolPlan) => {
  const { pool, balancer, seenAtMs, plan } = planned;
  return (
    <Panel
      title={texts.plan.pool(pool, balancer)}
      aside={<DoneBy {...planned} />}
      className="pool-plan"
    >
      {plan === null ? (
        <p className="quiet">{texts.plan.elsewhere}</p>
      ) : (
        <Plan {...plan} seenAtMs={seenAtMs} />
      )}
    </Panel>
  );
};

const Plan = ({ failure, held, stage, seenAtMs, ...told }: Told & Pick<PoolPlan, 'seenAtMs'>) => (
  <>
    {failure !== null && (
      <Notice tone="bad" title={texts.plan.unreadable}>
        <p className="why">{failure}</p>
      </Notice>
    )}
    {held !== null && <Notice tone="warn">{texts.plan.held(held)}</Notice>}
    {stage !== null && (
      <p>
        {stage === 'settled' && !told.isComplete ? texts.plan.notAllWell : texts.plan.stages[stage]}{' '}
        {seenAtMs !== null && (
          <span className="quiet">
            ({texts.plan.seen} <Ago atMs={seenAtMs} />)
          </span>
        )}
      </p>
    )}
    <Actions {...told} />
    <Moves {...told} />
    <ul className="skipped">
      {told.panic.map((member) => (
        <li key={member}>{texts.plan.panic(member)}</li>
      ))}
      {told.shelved.map((name) => (
        <li key={name}>{texts.plan.shelved(name)}</li>
      ))}
      {told.leftOut.map(({ machineId, why }) => (
        <li key={machineId}>{texts.plan.noServer(machineId, why)}</li>
      ))}
    </ul>
  </>
);

const Actions = ({ actions }: Pick<Told, 'actions'>) =>
  actions.length > 0 && (
    <Table label={texts.plan.actions} columns={texts.plan.actionColumns}>
      {actions.map(({ act, kind, name, why }) => (
        <tr key={`${act} ${kind} ${name}`}>
          <th scope="row">{act}</th>
          <td>{kind}</td>
          <td className="mono">{name}</td>
          <td className="why">{why ?? texts.none}</td>
        </tr>
      ))}
    </Table>
  );

const Moves = ({ moves }: Pick<Told, 'moves'>) =>
  moves.length > 0 && (
    <Table label={texts.plan.moves} columns={texts.plan.moveColumns}>
      {moves.map(({ member, from, to, why }) => (
        <tr key={member} data-member={member}>
          <th scope="row" className="slot">
            {member}
          </th>
          <td>{texts.plan.move(from, to)}</td>
          <td className="why">{why ?? texts.none}</td>
        </tr>
      ))}
    </Table>
  );
