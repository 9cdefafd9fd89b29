import type { ReactNode } from 'react';
import type { Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Ago, Moment } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** What rows and listing tell of it. */
export function Facts({ machine }: { readonly machine: Machine }) {
  const { labels } = texts.machine;
  const mono = (value: string | null) => value !== null && <span className="mono">{value}</span>;
  const facts: readonly (readonly [string, ReactNode])[] = [
    [labels.machineId, mono(machine.machineId)],
    [labels.providerId, mono(machine.providerId)],
    [labels.reservationId, mono(machine.reservationId)],
    [labels.address, mono(machine.address)],
    [labels.hostname, mono(machine.hostname)],
    [labels.location, machine.location],
    [labels.plan, machine.plan],
    [labels.status, machine.status],
    [labels.power, machine.power],
    [labels.heard, machine.lastHeartbeatAtMs !== null && <Ago atMs={machine.lastHeartbeatAtMs} />],
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
