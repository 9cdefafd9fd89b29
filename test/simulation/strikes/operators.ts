import type { NewRequest, RequestTarget } from '../../../src/adapters/bmdb/port.ts';
import { explain } from '../../../src/domain/errors.ts';
import { SETTABLE_HOLDS } from '../../../src/domain/verbs.ts';
import { targetOf } from '../../contracts/requests-of.ts';
import { PROVIDER } from '../../support/facts.ts';
import { ask, askOf, newKey } from '../targets.ts';
import { figures, lasting, MINUTE, minutes, pick, target, type StrikeKindSpec } from './kind.ts';

const ORDERS = ['reboot', 'restart-agent', 'reinstall'] as const;
type OperatorVerb = (typeof ORDERS)[number];
const orderOf = (verb: OperatorVerb, to: RequestTarget, force: boolean) =>
  verb === 'reboot'
    ? ({ verb, target: to, force, drain: force ? 'force' : null } as const)
    : ({ verb, target: to } as const);
const image = {
  url: 'https://images.example/os.img',
  sha256: '0'.repeat(64),
  compression: 'none',
  rootDevice: { name: 'sda' },
} as const;

export const OPERATORS = {
  'operator-holds': {
    perHour: 0.5,
    draw: lasting(MINUTE, 120 * MINUTE, 'kind', 'end'),
    strike(simulation, { which, kind: at, end, forMs }) {
      // `no-recover` is the most frequent hold.
      const kind = pick([...SETTABLE_HOLDS, 'no-recover', 'no-recover'] as const, at!);
      // Half of them are released by hand.
      const untilMs = end! < 0.5 ? simulation.clock.now() + forMs! : null;
      return askOf(simulation, which!, (to) => {
        const unhold = { verb: 'unhold', target: { ...to, machineId: null }, kind } as const;
        if (untilMs === null) simulation.later(() => void ask(simulation, unhold), forMs!);
        return {
          verb: 'hold',
          target: to,
          kind,
          untilMs,
          force: kind === 'no-serve' && end! < 0.2,
        };
      });
    },
  },
  'operator-orders': {
    perHour: 1,
    draw: figures('which', 'verb', 'force'),
    strike: (simulation, { which, verb, force }) =>
      askOf(simulation, which!, (to) => orderOf(pick(ORDERS, verb!), to, force! < 0.5)),
  },
  'operator-orders-many': {
    perHour: 0.2,
    draw: figures('verb', 'force'),
    strike(simulation, { verb, force }) {
      const { bmdb } = simulation.world;
      const chosen = pick(ORDERS, verb!);
      const about = { by: 'ann', reason: 'simulation' };
      const rows = [...bmdb.tables.machines.values()].filter(({ row }) => row.provided);
      const requests = rows.map(({ row }): NewRequest => {
        const what = orderOf(chosen, targetOf(row), force! < 0.5);
        return { key: newKey(simulation), ...about, what };
      });
      if (requests.length === 0) return null;
      const batch = { key: newKey(simulation), digest: '0'.repeat(64), requests };
      bmdb.requests
        .submitBatch(batch)
        .catch((error: unknown) => simulation.recorder.note(`refused batch: ${explain(error)}`));
      return `${chosen} of ${requests.length} machines at once`;
    },
  },
  'operator-withdraws': {
    perHour: 0.5,
    draw: target,
    strike: (simulation, { which }) =>
      askOf(simulation, which!, (to) => ({ verb: 'withdraw', target: to })),
  },
  'operator-clears-backoff': {
    perHour: 0.5,
    draw: target,
    strike: (simulation, { which }) =>
      askOf(simulation, which!, (to) => ({ verb: 'clear-backoff', target: to })),
  },
  'operator-installs': {
    perHour: 0.4,
    draw: lasting(2 * MINUTE, 90 * MINUTE, 'cancel'),
    strike: (simulation, { which, cancel, forMs }) =>
      askOf(simulation, which!, (to) => {
        const back = { verb: 'cancel-install', target: to } as const;
        if (cancel! < 0.3) simulation.later(() => void ask(simulation, back), forMs!);
        return { verb: 'install', target: to, image };
      }),
  },
  'operator-deprovisions': {
    perHour: 0.4,
    draw: figures('which', 'pool', 'drain'),
    strike: (simulation, { which, pool, drain }) =>
      askOf(simulation, which!, (to) => ({
        ...{ verb: 'deprovision', target: to, returnToPool: pool! < 0.5 },
        drain: pick(['skip', 'force', null] as const, drain!),
      })),
  },
  'operator-retires': {
    perHour: 0.2,
    draw: lasting(10 * MINUTE, 120 * MINUTE),
    strike: (simulation, { which, forMs }) =>
      askOf(simulation, which!, (to) => {
        const slotTarget = { ...to, machineId: null };
        const back = () => void ask(simulation, { verb: 'unretire', target: slotTarget });
        simulation.later(back, forMs!);
        return { verb: 'retire', target: to };
      }),
  },
  'operator-quarantines': {
    perHour: 0.3,
    draw: lasting(5 * MINUTE, 60 * MINUTE),
    strike: (simulation, { which, forMs }) =>
      askOf(simulation, which!, (to) => ({
        ...{ verb: 'quarantine', target: to },
        untilMs: simulation.clock.now() + forMs!,
      })),
  },
  'operator-releases': {
    perHour: 0.5,
    draw: figures('which', 'key'),
    strike: (simulation, { which, key }) =>
      askOf(simulation, which!, (to) => ({
        ...{ verb: 'release', target: to },
        forgetHostKey: key! < 0.2,
      })),
  },
  'operator-freezes': {
    perHour: 0.2,
    draw: lasting(5 * MINUTE, 90 * MINUTE, 'scope'),
    strike(simulation, { forMs, scope: at }) {
      const scope = at! < 0.5 ? 'fleet' : PROVIDER;
      const freeze = ask(simulation, { verb: 'freeze', scope });
      simulation.later(() => void ask(simulation, { verb: 'thaw', scope }), forMs!);
      return `${freeze} for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
