import { isActive, readServers } from '../../haproxy/status.ts';
import { startTraffic, type TrafficFigures } from '../../haproxy/traffic/traffic.ts';
import type { NewRequest } from '../../../src/adapters/bmdb/port.ts';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { slotIdOf } from '../../../src/domain/ids.ts';
import { ORDERS_KEPT } from '../../../src/domain/policy.ts';
import {
  budgetOfAll,
  type ScenarioOutcome,
  type Scenario,
  type ScenarioStage,
  unless,
} from './scenario.ts';
import { devicesOf } from './truth.ts';
import { servedOutOfTurn } from './turns.ts';

/** New connections; the figures need at least this many. */
const PER_SECOND = 60;
const PER_SECOND_MIN = 50;
const HELD = 20;
/** Duration of a client's connection, shorter than a drain's grace. */
const HOLD_MS = [1_000, 5_000] as const;
const AT_ONCE = 3;
const SETTLED_MS = 90_000;
const ROLLED_MS = 400_000;
/** Traffic lasts this long before the orders and after the last machine's return. */
const AROUND_MS = 2_000;
const SAMPLE_MS = 100;

/** Every machine gets a planned interruption that clients must not notice. */
export const rolling = ({ drain }: { readonly drain: boolean }): Scenario => ({
  machinesMin: 4,
  machinesUsual: 12,
  summary: `an operator reboots all machines under live traffic${drain ? '' : ', none is drained'}`,
  figures: {
    requestsPerSecond: 'new connections per second',
    requests: 'requests on new connections',
    refused: 'refused',
    ended: 'held connections that their clients ended',
    cut: 'held connections that were cut',
    outOfTurn: 'requests to machines that were let go',
    minActiveSeen: 'members that got traffic, at least',
    seconds: 'seconds',
  },
  atOnce: AT_ONCE,
  perLocation: (machines) => machines,
  recoverer: {},
  play: (stage) => play(stage, drain),
});

async function play(stage: ScenarioStage, drain: boolean): Promise<ScenarioOutcome> {
  const { machines, hosts, until, pass, now } = stage;
  const outcome = (broken: readonly string[], figures: Readonly<Record<string, number>> = {}) => ({
    struck: devicesOf(hosts.list()),
    budget: budgetOfAll(machines) + ORDERS_KEPT,
    broken,
    figures,
  });
  const isWhole = async () => (await activeNow(stage)) === machines;
  if (!(await until(isWhole, SETTLED_MS))) {
    return outcome([`${await activeNow(stage)} of ${machines} machines became members`]);
  }
  const boots = bootIds(stage);
  const watched = watch(stage);
  try {
    const beganAt = now();
    await pass(AROUND_MS);
    await orderReboots(stage, drain);
    const lacking = () =>
      [...bootIds(stage)].flatMap(([id, boot]) => (boots.get(id) === boot ? [id] : []));
    const isOver = async () =>
      lacking().length === 0 && stage.healthy() === machines && (await isWhole());
    const inTime = await until(isOver, ROLLED_MS);
    const seconds = rounded((now() - beganAt) / 1_000);
    await pass(AROUND_MS);
    const { traffic, minActiveSeen, outOfTurn } = await watched.end();
    const { requests, refused, ended, cut } = traffic;
    const perSecond = rounded(traffic.perSecond);
    const figures = { refused, cut, minActiveSeen, outOfTurn, requests, ended, seconds };
    return outcome(
      [
        ...unless(inTime, `${await activeNow(stage)} of ${machines} are members again`),
        ...(await ordersOf(lacking(), stage)),
        ...unless(perSecond >= PER_SECOND_MIN, `only ${perSecond} new connections per second`),
        ...unless(ended > 0, 'no held connection was ended by its client'),
        ...unless(
          minActiveSeen >= machines - AT_ONCE,
          `${minActiveSeen} members got traffic at some time, ${AT_ONCE} may be out at once`,
        ),
        ...unless(outOfTurn === 0, `${outOfTurn} requests reached machines that were let go`),
        ...complaintsOf(traffic),
      ],
      { ...figures, requestsPerSecond: perSecond },
    );
  } finally {
    await watched.end();
  }
}

/** Members that get new connections from HAProxy itself. */
const activeNow = async (stage: ScenarioStage): Promise<number> =>
  (await readServers(stage.pool().haproxy!)).filter(isActive).length;

const bootIds = ({ hosts }: ScenarioStage): Map<string, string | undefined> =>
  new Map(hosts.list().map(({ deviceId, bootId }) => [deviceId, bootId]));

const keyOf = (slot: string): string => `rolling/${slot}`;

/** Like `shepherd machine reboot --all`. @throws {BatchRefused} */
async function orderReboots({ daemon }: ScenarioStage, drain: boolean): Promise<void> {
  const requests = [...daemon.board.entries.values()].map(
    ({ view: { slot, provider, machineId } }): NewRequest => ({
      key: keyOf(slot),
      by: 'sim',
      reason: 'scenario rolling',
      what: {
        verb: 'reboot',
        force: false,
        drain: drain ? null : 'skip',
        target: { provider, slotId: slotIdOf(slot), machineId },
      },
    }),
  );
  await daemon.bmdb.requests.submitBatch({ key: 'rolling', digest: 'rolling', requests });
}

/** Outcomes of the orders for machines that were not rebooted. */
export async function ordersOf(
  devices: readonly string[],
  { daemon, signal }: Pick<ScenarioStage, 'daemon' | 'signal'>,
): Promise<string[]> {
  if (devices.length === 0) return [];
  const views = [...daemon.board.entries.values()].map(({ view }) => view);
  const struck = devices.map((device) => {
    const slot = views.find(({ providerId }) => providerId === device)?.slot ?? 'no slot';
    return { device, slot, key: keyOf(slot) };
  });
  const keys = struck.map(({ key }) => key);
  const states = await daemon.bmdb.requests.read(keys, signal);
  return struck.map(({ device, slot, key: wanted }) => {
    const order = states.find(({ key }) => key === wanted);
    const end = order
      ? `${order.state}: ${order.outcome ?? 'nothing was told yet'}`
      : 'not submitted';
    return `${slot} (device ${device}) was not rebooted; its order is ${end}`;
  });
}

interface RollingFigures {
  readonly traffic: TrafficFigures;
  readonly minActiveSeen: number;
  readonly outOfTurn: number;
}

/** Sends traffic, and watches machines and balancer. */
function watch(stage: ScenarioStage): { end(): Promise<RollingFigures> } {
  const served: Parameters<typeof servedOutOfTurn>[0][number][] = [];
  const endRequests = stage.hosts.watchRequests((request) => served.push(request));
  const traffic = startTraffic({
    to: stage.pool().clients,
    perSecond: PER_SECOND,
    held: HELD,
    holdMs: HOLD_MS,
    chance: systemRandom.next,
  });
  let isOver = false;
  let minActiveSeen = Number.POSITIVE_INFINITY;
  const sampling = (async () => {
    while (!isOver) {
      minActiveSeen = Math.min(minActiveSeen, await activeNow(stage));
      await stage.pass(SAMPLE_MS);
    }
  })();
  // The error is reported at the end; the scenario may fail earlier.
  sampling.catch(() => undefined);
  const end = async (): Promise<RollingFigures> => {
    isOver = true;
    const figures = await traffic.stop();
    endRequests();
    await sampling;
    const outOfTurn = servedOutOfTurn(served, await stage.audit.memberships()).length;
    return { traffic: figures, minActiveSeen, outOfTurn };
  };
  let ending: Promise<RollingFigures> | undefined;
  return { end: () => (ending ??= end()) };
}

const complaintsOf = ({ refused, cut, failures }: TrafficFigures): string[] => [
  ...unless(refused === 0, `${refused} requests were refused`),
  ...unless(cut === 0, `${cut} held connections were cut`),
  ...[...failures].map(([what, count]) => `${count} × ${what}`),
];

const rounded = (value: number): number => Math.round(value * 10) / 10;
