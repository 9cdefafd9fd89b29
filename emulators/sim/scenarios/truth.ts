import type { HostSnapshot, HostTally } from '../../hosts/options.ts';
import type { EquinixWorld } from '../world.ts';

/** What really happened to machines, as they and their provider have seen it. */
export interface Deeds {
  /** Calls that the provider took, by kind of action. */
  readonly actions: Readonly<Record<string, number>>;
  /** The same of each device. */
  readonly actionsOf: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** What the machines have seen together. */
  readonly seen: HostTally;
  /** And each alone, by device id. */
  readonly seenBy: ReadonlyMap<string, HostTally>;
}

/** Watches the simulated world, from when it is made. */
export interface Truth {
  /** From now on is what the fault brings about. */
  begin(): void;
  /** All since `begin`. */
  deeds(): Deeds;
}

const ACTION_ROUTE = '/devices/{id}/actions';
const NONE: HostTally = { boots: 0, installs: 0, programs: 0, stops: 0 };

export function watchWorld({
  fakequinix,
  hosts,
}: Pick<EquinixWorld, 'fakequinix' | 'hosts'>): Truth {
  let firstSeq = 0;
  let before = new Map<string, HostTally>();

  const tallies = () => new Map(hosts.list().map((host) => [host.deviceId, host.seen]));
  const actions = () =>
    fakequinix
      .requests(firstSeq)
      .filter(({ method, route }) => method === 'POST' && route === ACTION_ROUTE)
      .filter(({ executed, status }) => executed && status !== null && status < 300)
      .map(({ path, body }) => ({
        device: /\/devices\/([^/]+)\/actions$/.exec(path)?.[1] ?? '',
        type: String((body as { readonly type?: unknown }).type),
      }));

  return {
    begin() {
      firstSeq = fakequinix.requests().at(-1)?.seq ?? 0;
      before = tallies();
    },
    deeds() {
      const made = actions();
      const devices = new Set(made.map(({ device }) => device));
      const seenBy = new Map(
        [...tallies()].map(([device, now]) => [device, less(now, before.get(device) ?? NONE)]),
      );
      return {
        actions: countsOf(made),
        actionsOf: new Map(
          [...devices].map((id) => [id, countsOf(made.filter(({ device }) => device === id))]),
        ),
        seenBy,
        seen: [...seenBy.values()].reduce(plus, NONE),
      };
    },
  };
}

function countsOf(made: readonly { readonly type: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of made) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
}

const combine = (how: (a: number, b: number) => number) => (a: HostTally, b: HostTally) => ({
  boots: how(a.boots, b.boots),
  installs: how(a.installs, b.installs),
  programs: how(a.programs, b.programs),
  stops: how(a.stops, b.stops),
});
const plus = combine((a, b) => a + b);
const less = combine((a, b) => a - b);

/** Ends of the machines' names in the provider's API. */
export const devicesOf = (hosts: readonly HostSnapshot[]): string[] =>
  hosts.map(({ deviceId }) => deviceId);
