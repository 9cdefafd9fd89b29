import type { ReactNode } from 'react';
import { LINE_FIELD_NAMES, lineField } from '../../../src/domain/line-fields.ts';
import type { Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Ago, Moment } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

type MachineFact = readonly [string, ReactNode];

/** Facts from the database and from the listing of the provider. */
export function Facts({ machine }: { readonly machine: Machine }) {
  const { labels } = texts.machine;
  const mono = (value: string | null | undefined) =>
    value !== null && value !== undefined && <span className="mono">{value}</span>;
  const facts: readonly MachineFact[] = [
    [labels.providerId, mono(machine.providerId)],
    [labels.reservationId, mono(machine.reservationId)],
    ...LINE_FIELD_NAMES.filter((name) => name !== 'conditions').map((name): MachineFact => {
      const { label, isMono } = lineField(name);
      return [label, isMono ? mono(machine[name]) : machine[name]];
    }),
    [labels.hostname, mono(machine.hostname)],
    [labels.plan, machine.plan],
    [labels.status, machine.status],
    [labels.power, machine.power],
    [labels.heard, machine.lastHeartbeatAtMs !== null && <Ago atMs={machine.lastHeartbeatAtMs} />],
    [labels.adopted, machine.adopted && texts.machine.adopted],
    [labels.created, machine.createdAtMs !== null && <Moment atMs={machine.createdAtMs} />],
    [labels.agentStarted, machine.agent !== null && <Moment atMs={machine.agent.startedAtMs} />],
    [labels.agentKey, mono(machine.agent?.publicKey ?? null)],
    [labels.bootId, mono(machine.agent?.bootId ?? null)],
    [labels.hostKey, mono(machine.hostKey)],
    [labels.installation, machine.installation?.result],
    [labels.conflict, machine.conflict],
    [
      labels.pools,
      machine.members.map(({ pool, balancer, state }) => `${pool}@${balancer} ${state}`).join(', '),
    ],
  ];
  return (
    <Panel title={texts.machine.facts} className="facts">
      <dl>
        {facts
          .filter(
            ([, value]) => value !== null && value !== undefined && value !== false && value !== '',
          )
          .map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Panel>
  );
}
