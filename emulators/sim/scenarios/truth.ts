import type { HostSnapshot, HostTally } from '../../hosts/options.ts';
import type { EquinixWorld } from '../world.ts';

/** What really happened to machines, by their own and their provider's view. */
export interface Deeds {
  /** Calls that the provider accepted, by kind of action. */
  readonly actions: Readonly<Record<string, number>>;
  /** The same per device. */
  readonly actionsOf: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** Sum of the machines' own counts. */
  readonly seen: HostTally;
  /** The counts by device id. */
  readonly seenBy: ReadonlyMap<string, HostTally>;
}

/** Watches the simulated world from its creation. */
export interface Truth {
  /** Everything from now on is an effect of the fault. */
  begin(): void;
  /** All since `begin`. */
  deeds(): Deeds;
  /** Contradictions in the provider's world. */
  violations(): readonly string[];
}

const ACTION_ROUTE = '/devices/{id}/actions';
const NONE: HostTally = { boots: 0, installs: 0, programs: 0, stops: 0 };

export function watchWorld({ emulator, hosts }: Pick<EquinixWorld, 'emulator' | 'hosts'>): Truth {
  let firstSeq = 0;
  let before = new Map<string, HostTally>();
  const tallies = () => new Map(hosts.list().map((host) => [host.deviceId, host.seen]));

  /** A count of one for each action, with its device. */
  const actions = () =>
    emulator
      .requests(firstSeq)
      .filter(({ method, route }) => method === 'POST' && route === ACTION_ROUTE)
      .filter(({ executed, status }) => executed && status !== null && status < 300)
      .map(({ path, body }) => ({
        device: /\/devices\/([^/]+)\/actions$/.exec(path)?.[1] ?? '',
        tally: { [String((body as { readonly type?: unknown }).type)]: 1 },
      }));

  return {
    violations: emulator.violations,
    begin() {
      firstSeq = emulator.requests().at(-1)?.seq ?? 0;
      before = tallies();
    },
    deeds() {
      const byDevice = Map.groupBy(actions(), ({ device }) => device);
      const actionsOf = new Map(
        [...byDevice].map(([device, made]) => [device, sum(made.map(({ tally }) => tally))]),
      );
      const seenBy = new Map(
        [...tallies()].map(([device, now]) => [device, less(now, before.get(device) ?? NONE)]),
      );
      return {
        actions: sum([...actionsOf.values()]),
        actionsOf,
        seenBy,
        seen: { ...NONE, ...sum([...seenBy.values()].map((tally) => ({ ...tally }))) },
      };
    },
  };
}

type CountsByName = Readonly<Record<string, number>>;

function sum(tallies: readonly CountsByName[]): CountsByName {
  const total: Record<string, number> = {};
  for (const [name, count] of tallies.flatMap((tally) => Object.entries(tally))) {
    total[name] = (total[name] ?? 0) + count;
  }
  return total;
}

const less = (a: HostTally, b: HostTally): HostTally => ({
  boots: a.boots - b.boots,
  installs: a.installs - b.installs,
  programs: a.programs - b.programs,
  stops: a.stops - b.stops,
});

/** Ends of the machines' names in the provider's API. */
export const devicesOf = (hosts: readonly HostSnapshot[]): string[] =>
  hosts.map(({ deviceId }) => deviceId);
