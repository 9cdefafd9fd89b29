import type { ConditionStatus, ConditionType } from '../../src/domain/conditions.ts';
import { slotIdOf, type Slot } from '../../src/domain/ids.ts';
import { DEFAULT_BUDGET, fleetBudget } from '../../src/domain/policy.ts';
import { DEFAULT_CHRONIC } from '../../src/domain/recovery/ladder.ts';
import { slotOfRow } from '../../src/domain/submission/named-fleet.ts';
import { advance } from '../doubles/simulated-clock.ts';
import type { SimulatedMachine } from '../doubles/mem-machines.ts';
import { createPlayedWorld, type PlayedDaemon, type PlayedWorld } from '../support/played-world.ts';
import { PROVIDER } from '../support/facts.ts';
import { streamOf } from './plan.ts';

/**
 * A month of a fleet in virtual time: some machines crash again and again, disks die, and a checker
 * lies about half of the fleet. Nobody looks at the fleet but at the disks. The figures come from
 * the hardware and the load balancer, not from what the daemons say.
 */
export interface MonthOptions {
  readonly seed: number;
  readonly days: number;
  /** Machines that should be in service; there are a fifth more reservations. */
  readonly machines: number;
  readonly daemons: number;
}

export interface MonthFigures {
  readonly options: MonthOptions;
  /** Machines that crash every few hours: how often each was brought back, and how it ended. */
  readonly chronic: readonly {
    readonly slot: string;
    readonly revived: number;
    readonly end: string;
  }[];
  readonly revivedMax: number;
  readonly retired: number;
  readonly replacements: number;
  /** Most replacements within 24 hours. */
  readonly replacementsInADay: number;
  readonly machinesCreated: number;
  /** Other faults, and how many of these machines run at the end. */
  readonly faults: number;
  readonly disksDied: number;
  readonly lies: number;
  /** Machines that were out of the pool for a lie an hour after the last lie. */
  readonly drainedByLies: number;
  /** Most machines that conditions kept out of the pool together. */
  readonly drainedMax: number;
  /** Fewest members with traffic, and the bound of that moment: see `serviceFloor`. */
  readonly activeMin: number;
  readonly serviceFloor: number;
  /** Machines that were rebooted, power cycled or installed while nothing but a condition was wrong. */
  readonly interruptedWell: number;
  readonly virtualHours: number;
  readonly violations: readonly string[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A member joins or leaves a pool within this time. */
const SETTLES_MS = 15 * MINUTE;
const PER_DAY = 2;
const LIE = 'gpu-lost';
const DISK = 'disk-failing' satisfies ConditionType;

/** Plays the month. A violation is a sentence; none means that every promise was kept. */
export async function runMonth(options: MonthOptions): Promise<MonthFigures> {
  const { seed, days, machines } = options;
  const random = streamOf(seed, 'month');
  const budget = fleetBudget(DEFAULT_BUDGET, machines);
  const minActive = machines - budget;
  const half = Math.ceil((machines * 1.2) / 2);
  const world = createPlayedWorld({
    seed,
    locations: { north: half, south: Math.ceil(machines * 1.2) - half },
    hasPool: true,
    minActive,
    config: {
      provisioner: { maxMachines: 0 },
      recoverer: { retire: 'chronic' },
      replacement: { maxPerDay: PER_DAY },
      conditions: { [DISK]: 'drain', [LIE]: 'drain' },
      // A month of the users' shorter intervals takes three times as long.
      mirror: { pollInterval: '30s', scanInterval: '5m', listInterval: '5m' },
    },
    ofProvider: { target: machines },
  });
  const { clock } = world;
  const played: PlayedDaemon[] = [];
  for (let at = 1; at <= options.daemons; at += 1) {
    const name = `daemon-${at}`;
    played.push(await world.start({ name, random: streamOf(seed, name) }));
  }
  const watch = watchService(world, { minActive });
  const pass = (ms: number) => advance(clock, ms, watch.look);
  // All lines and calls of a month do not fit into memory.
  const forget = () => {
    for (const { log, metrics } of played) {
      log.forget();
      metrics.forget();
    }
    clock.setTimeout(forget, HOUR);
  };
  forget();
  await pass(2 * HOUR);
  watch.begin();
  const began = clock.now();
  const endMs = began + days * DAY;
  const after = (ms: number, fn: () => void) => {
    if (clock.now() + ms < endMs - DAY) clock.setTimeout(fn, ms);
  };

  const slots = [...world.bmdb.tables.machines.values()].map(({ row }) => slotOfRow(row)!);
  const sick = slots.slice(0, Math.max(1, Math.round(0.05 * machines)));
  const crashes = new Map(sick.map((slot) => [slot, 0]));
  const revived = new Map(sick.map((slot) => [slot, 0]));
  let faults = 0;
  for (const slot of sick) {
    const crash = () => {
      const host = hostOn(world, slot);
      if (host && isWell(host)) {
        if (crashes.get(slot)! > 0) revived.set(slot, revived.get(slot)! + 1);
        crashes.set(slot, crashes.get(slot)! + 1);
        host.die('reboot');
      }
      after((3 + 4 * random.next()) * HOUR, crash);
    };
    after(HOUR * 12 * random.next(), crash);
  }
  const well = slots.filter((slot) => !sick.includes(slot));
  const anyOf = (list: readonly Slot[]) => list[Math.floor(random.next() * list.length)]!;
  const strike = () => {
    const host = hostOn(world, anyOf(well));
    if (host && isWell(host)) {
      faults += 1;
      if (random.next() < 0.6) host.killAgent();
      else host.die(random.next() < 0.7 ? 'reboot' : 'powerCycle');
    }
    after((6 + 12 * random.next()) * HOUR, strike);
  };
  after(6 * HOUR, strike);

  const report = (slot: Slot, type: string, source: string, status: ConditionStatus) =>
    void world.bmdb.conditions.report([
      {
        ...{ provider: PROVIDER, slotId: slotIdOf(slot), machineId: null, type, source, status },
        ...{ reason: status === 'True' ? 'it says so' : 'all is well', detail: '' },
        validForMs: null,
      },
    ]);
  let disksDied = 0;
  const diskDies = () => {
    const slot = anyOf(well);
    disksDied += 1;
    report(slot, DISK, 'agent', 'True');
    // Somebody replaces it three days later.
    after(3 * DAY, () => report(slot, DISK, 'agent', 'False'));
    after(5 * DAY, diskDies);
  };
  after(DAY, diskDies);
  let [lies, drainedByLies] = [0, 0];
  const liesAbout = well.slice(0, Math.floor(machines / 2) + 1);
  const lie = (at: number) => {
    const slot = liesAbout[at];
    if (!slot) {
      after(HOUR, () => (drainedByLies = drainedFor(world, LIE)));
      return after(DAY, () => liesAbout.forEach((each) => report(each, LIE, 'gpud', 'False')));
    }
    lies += 1;
    report(slot, LIE, 'gpud', 'True');
    after(20 * MINUTE, () => lie(at + 1));
  };
  after(0.3 * days * DAY, () => lie(0));

  await pass(days * DAY);
  const ends = sick.map((slot) => ({
    slot: String(slot),
    revived: revived.get(slot)!,
    end: endOf(world, slot),
  }));
  const service = watch.figures();
  await Promise.all([...played.map(({ daemon }) => daemon.stop()), pass(2 * MINUTE)]);
  world.end();
  const { intents, holds } = world.bmdb.tables;
  const replaced = [...intents.values()].filter(({ replaces }) => replaces);
  const figures = {
    options,
    chronic: ends,
    revivedMax: Math.max(...ends.map((each) => each.revived)),
    retired: holds.filter(({ kind }) => kind === 'retired').length,
    replacements: replaced.length,
    replacementsInADay: mostWithin(
      replaced.map(({ createdAtMs }) => createdAtMs),
      DAY,
    ),
    machinesCreated: [...intents.values()].filter(({ state }) => state === 'adopted').length,
    ...{ faults, disksDied, lies, drainedByLies, ...service },
    virtualHours: (clock.now() - began) / HOUR,
  };
  return { ...figures, violations: [...service.violations, ...brokenPromises(figures)] };
}

type Judged = Omit<MonthFigures, 'violations'>;

function* brokenPromises(figures: Judged): Iterable<string> {
  const { options, replacements, replacementsInADay, machinesCreated, revivedMax } = figures;
  const { episodes } = DEFAULT_CHRONIC;
  if (revivedMax > episodes) yield `a chronic machine was revived ${revivedMax} times`;
  for (const { slot, end } of figures.chronic) {
    if (end !== 'retired') yield `chronic machine ${slot} is ${end} in the end`;
  }
  if (replacementsInADay > PER_DAY) yield `${replacementsInADay} replacements in one day`;
  if (replacements !== figures.retired) {
    yield `${figures.retired} machines were retired, and ${replacements} replaced`;
  }
  if (machinesCreated > options.machines + replacements) {
    yield `${machinesCreated} machines were created for a target of ${options.machines}`;
  }
  if (figures.drainedByLies > 0) yield `${figures.drainedByLies} members left for lies`;
  if (figures.lies === 0 || figures.disksDied === 0) yield 'no checker lied, or no disk died';
  if (figures.interruptedWell > 0)
    yield `${figures.interruptedWell} well machines were interrupted`;
}

const isWell = (host: SimulatedMachine): boolean => !host.unreachable && host.agents > 0;

function hostOn({ provider, hosts }: PlayedWorld, slot: Slot): SimulatedMachine | undefined {
  const address = provider.world.onSlot(slotIdOf(slot))?.addresses[0];
  return hosts.get(`${address}:22`);
}

function endOf({ bmdb }: PlayedWorld, slot: Slot): string {
  const isRetired = bmdb.tables.holds.some(
    ({ kind, slotId }) => kind === 'retired' && slotId === slotIdOf(slot),
  );
  const found = [...bmdb.tables.machines.values()].find(({ row }) => slotOfRow(row) === slot);
  return isRetired ? 'retired' : (found?.row.quarantine?.cause ?? 'in service');
}

/** Machines that are out of the pool and have this condition, but no other true one. */
function drainedFor({ bmdb }: PlayedWorld, type: string): number {
  const { machines, conditions } = bmdb.tables;
  const typesOf = (slot: string | undefined) =>
    [...conditions.values()].flatMap((each) =>
      each.status === 'True' && `${each.provider}/${each.slotId}` === slot ? [each.type] : [],
    );
  return [...machines.values()].filter(({ row }) => {
    const types = typesOf(slotOfRow(row) ?? undefined);
    const isOut = row.members.some(({ state }) => state !== 'active') && !row.quarantine;
    return isOut && types.length === 1 && types[0] === type;
  }).length;
}

/** The most times within any span. */
function mostWithin(times: readonly number[], spanMs: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.max(
    0,
    ...sorted.map((from) => sorted.filter((at) => at >= from && at < from + spanMs).length),
  );
}

/**
 * Watches the pool from outside. Planned drains leave `minActive` members; each machine that is
 * broken now, or was a moment ago, may be missing besides.
 */
function watchService(world: PlayedWorld, { minActive }: { readonly minActive: number }) {
  const { bmdb, balancer, clock, hosts } = world;
  const violations: string[] = [];
  const brokenUntil = new Map<SimulatedMachine, number>();
  const boots = new Map<SimulatedMachine, string>();
  let isBegun = false;
  let lookedAtMs = 0;
  let [activeMin, serviceFloor, drainedMax, interruptedWell] = [Infinity, minActive, 0, 0];

  function look() {
    const nowMs = clock.now();
    if (nowMs - lookedAtMs < MINUTE) return;
    lookedAtMs = nowMs;
    for (const host of hosts.values()) {
      const before = boots.get(host);
      if (before !== undefined && before !== host.bootId && !brokenUntil.has(host) && isBegun) {
        interruptedWell += 1;
      }
      boots.set(host, host.bootId);
      if (!isWell(host)) brokenUntil.set(host, nowMs + SETTLES_MS);
      else if ((brokenUntil.get(host) ?? nowMs) < nowMs) brokenUntil.delete(host);
    }
    if (!isBegun) return;
    const rows = [...bmdb.tables.machines.values()].map(({ row }) => row);
    const serving = rows.filter(({ machineId }) =>
      balancer!.servers(machineId).some(({ mode }) => mode === 'active'),
    );
    const inFleet = new Set(rows.map(({ provided }) => hosts.get(`${provided?.address}:22`)));
    const broken = [...brokenUntil.keys()].filter((host) => inFleet.has(host)).length;
    const drained = rows.filter(
      ({ members, quarantine }) => !quarantine && members.some(({ state }) => state === 'drained'),
    ).length;
    drainedMax = Math.max(drainedMax, drained);
    if (serving.length < activeMin) {
      activeMin = serving.length;
      serviceFloor = minActive - broken;
    }
    if (serving.length < minActive - broken && violations.length < 10) {
      violations.push(
        `${serving.length} members serve, with ${broken} machines broken and ${minActive} wanted`,
      );
    }
  }
  return {
    look,
    begin: () => void (isBegun = true),
    figures: () => ({ activeMin, serviceFloor, drainedMax, interruptedWell, violations }),
  };
}
