import { useState } from 'react';
import type { MemberSummary, PoolSummary } from '../../api/types.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { Ago, Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { countsOf, troublesOf, whyOf, wordsOf } from './pool-words.ts';

/** A pool with at most this many members shows them at once. */
const UNFOLDED_MAX = 12;

export function Pool(pool: PoolSummary) {
  const [open, setOpen] = useState(pool.members.length <= UNFOLDED_MAX);
  return (
    <details
      className="pool panel"
      data-pool={`${pool.pool}@${pool.balancer}`}
      data-lb={pool.frozen ? 'frozen' : (pool.state ?? '')}
      open={open}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <b>{pool.pool}</b>
        <span className="quiet">{texts.balancers.at(pool.balancer, pool.driver)}</span>
        <span className="chip">{pool.state ?? texts.balancers.untended}</span>
        {troublesOf(pool).map((text) => (
          <span key={text} className="chip" data-alarm>
            {text}
          </span>
        ))}
        <span className="quiet">
          {pool.settledAtMs === null ? (
            texts.balancers.notSettled
          ) : (
            <>
              {texts.balancers.settled} <Ago atMs={pool.settledAtMs} />
            </>
          )}
        </span>
        <span className="figures">{countsOf(pool)}</span>
      </summary>
      {whyOf(pool).map((text) => (
        <p key={text} className="why">
          {text}
        </p>
      ))}
      <Members members={pool.members} />
    </details>
  );
}

function Members({ members }: { readonly members: readonly MemberSummary[] }) {
  if (members.length === 0) return <p className="quiet">{texts.balancers.noMembers}</p>;
  return (
    <Scrolls label={texts.balancers.members}>
      <table>
        <thead>
          <tr>
            {texts.balancers.columns.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <tr key={member.machineId} data-member={member.state}>
              <th scope="row" className="mono">
                {member.slot === null ? member.machineId : <MachineLink slot={member.slot} />}
              </th>
              <td className="member">{wordsOf(member)}</td>
              <td>
                <Since atMs={member.sinceMs} />
              </td>
              <td>{member.health ?? texts.none}</td>
              <td>{member.sessions === null ? texts.none : texts.figure(member.sessions)}</td>
              <td className="why">{member.note}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}
