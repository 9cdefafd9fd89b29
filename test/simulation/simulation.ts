import { explain } from '../../src/domain/errors.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../doubles/simulated-clock.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
  type WorldOptions,
} from '../support/played-world.ts';
import { createCallFaults, type CallFaults } from './call-faults.ts';
import { heal, leftOver } from './healing.ts';
import { inTurn, interceptPort, type Interceptor } from './intercept.ts';
import { streamOf, type SimulationPlan, type PlannedFault } from './plan.ts';
import { createRecorder, secondsOf, timeOf, type Recorder } from './recorder.ts';
import { watchRules } from './rules/index.ts';
import { gatherFacts, type Facts } from './sometimes.ts';
import { STRIKES } from './strikes.ts';
import { LIE } from './strikes/machines.ts';
import { MEMORY_GIB } from './strikes/repairs.ts';

/** A broken rule, with the sentence that it stands for. */
export interface Violation {
  readonly rule: string;
  readonly sentence: string;
  readonly detail: string;
  /** Time after the start of the run. */
  readonly atMs: number;
}

export interface SimulationOutcome {
  readonly plan: SimulationPlan;
  readonly violations: readonly Violation[];
  /** Digest of all calls, answers and deeds. Equal runs have equal digests. */
  readonly trace: string;
  /** How often each kind of strike hit something. */
  readonly struck: Readonly<Record<string, number>>;
  /** How often each fact occurred: see `gatherFacts`. */
  readonly tally: Readonly<Record<string, number>>;
  /** Strikes and events of machines, one per line. */
  readonly story: readonly string[];
  /** Virtual hours, including the healing. */
  readonly hours: number;
}

export interface RunOptions {
  /** Whether the run ends at the first violation. */
  readonly stopsAtFirst?: boolean;
}

/** What strikes can reach: fleet, hardware, database and daemons. */
export interface Simulation {
  readonly plan: SimulationPlan;
  readonly clock: VirtualClock;
  readonly world: PlayedWorld;
  readonly daemons: readonly SimulatedDaemon[];
  readonly recorder: Recorder;
  /** Calls `fn` after `ms`, unless the fleet is healed before. */
  later(fn: () => void, ms: number): void;
}

/** A daemon under an init system, which restarts it after its death. */
export interface SimulatedDaemon {
  readonly name: string;
  readonly faults: CallFaults;
  /** The running process; null while none runs. */
  readonly played: PlayedDaemon | null;
  /** Dies as by SIGKILL, and is restarted after `downMs`. */
  kill(downMs: number): void;
  /** Shuts down in order and restarts at once, as in an upgrade. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** As systemd's `RestartSec`. */
const RESTART_MS = 10_000;
/** After the healing, a fleet of this size is healthy within this time and stays so. */
const HEALED_MS = 3 * HOUR_MS;
const LOOK_MS = 10 * 60_000;
/** Daemons are started one after the other. */
const STAGGER_MS = 1_000;

/** Runs the plan in virtual time, heals the world, and judges the record. */
export async function runPlan(
  plan: SimulationPlan,
  options: RunOptions = {},
): Promise<SimulationOutcome> {
  const order = streamOf(plan.seed, 'order');
  const clock = createSimulatedClock(undefined, plan.shuffled ? order.next : undefined);
  const world = createPlayedWorld({
    seed: plan.seed,
    clock,
    locations: Object.fromEntries(
      Array.from({ length: plan.locations }, (_, at) => [`hall${at + 1}`, shareOf(plan, at)]),
    ),
    config: configOf(plan),
    ofProvider: {
      ...{ recoveryMayEraseDisks: true, acceptance: { memoryGiB: MEMORY_GIB, required: true } },
      ...(plan.spares > 0 && { target: plan.machines }),
    },
    hasPool: plan.hasPool,
    hasControllers: true,
  });
  const violations: Violation[] = [];
  const report: ReportViolation = (rule, detail, sentence = RULES[rule as keyof typeof RULES]) =>
    void violations.push({ rule, sentence, detail, atMs: clock.monotonic() });
  const isOver = () => options.stopsAtFirst === true && violations.length > 0;
  const recorder = createRecorder(world);
  const look = () => {
    recorder.look();
    if (isOver()) throw new Stopped('a rule is broken');
  };
  const pass = (ms: number) => advance(clock, ms, look);
  const timers = new Set<unknown>();
  const later = (fn: () => void, ms: number) => {
    const timer = clock.setTimeout(() => {
      timers.delete(timer);
      fn();
    }, ms);
    timers.add(timer);
  };

  const facts = gatherFacts(world);
  const lag = streamOf(plan.seed, 'lag');
  const delays: Interceptor = {
    async around(_, run) {
      const result = await run();
      if (plan.shuffled && lag.next() < 0.05) await sleepIn(clock, lag.next() * 400);
      return result;
    },
  };
  const daemons = Array.from({ length: plan.daemons }, (_, at) =>
    superviseDaemon({
      name: `daemon-${at + 1}`,
      ...{ plan, clock, world, recorder, report, delays, facts },
    }),
  );
  recorder.listen(watchRules({ world, recorder, daemons: () => daemons }, report));
  const simulation: Simulation = { plan, clock, world, daemons, recorder, later };
  const startedMs = STAGGER_MS * plan.daemons;
  for (const [at, daemon] of daemons.entries()) later(() => void daemon.begin(), STAGGER_MS * at);
  for (const strike of plan.strikes) later(() => apply(strike, simulation), strike.atMs);
  try {
    await pass(startedMs + plan.hours * HOUR_MS);
    for (const timer of timers) clock.clearTimeout(timer);
    await heal(simulation, pass);
    const healedByMs = clock.monotonic() + HEALED_MS;
    while (clock.monotonic() < healedByMs && leftOver(simulation).length > 0) await pass(LOOK_MS);
    await pass(LOOK_MS);
    for (const detail of leftOver(simulation)) report('whole-again', detail);
    await Promise.all([...daemons.map((daemon) => daemon.stop()), pass(2 * 60_000)]);
    recorder.end();
    world.end();
    if (clock.pending > 0) report('nothing-left', `${clock.pending} timers are left`);
    const { sessions } = world.bmdb.tables;
    if (sessions.size > 0) report('nothing-left', `${sessions.size} sessions are left`);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return {
    plan,
    violations,
    trace: recorder.digest(),
    struck: recorder.struck(),
    tally: { ...Object.fromEntries(facts.end()), ...struckFacts(recorder) },
    story: storyOf(simulation),
    hours: clock.monotonic() / HOUR_MS,
  };
}

const struckFacts = (recorder: Recorder): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(recorder.struck()).map(([kind, hits]) => [`struck ${kind}`, hits]),
  );

/** Ends a run early, when only the violation matters. */
class Stopped extends Error {}

/** Strikes and lines of the slots' logs, sorted by time. */
function storyOf({ world, recorder, clock }: Simulation): string[] {
  const startMs = clock.now() - clock.monotonic();
  const told = world.bmdb.tables.events.map(({ atMs, slot, machineId, kind, actor, reason }) => {
    const about = machineId ? `${machineId} on ${slot}` : slot;
    return `${timeOf(atMs - startMs)}   ${about}: ${kind} by ${actor}: ${reason}`;
  });
  return [...recorder.story, ...told].toSorted((a, b) => secondsOf(a) - secondsOf(b));
}

type ReportViolation = (rule: string, detail: string, sentence?: string) => void;

/** Rules about a whole run. */
const RULES = {
  'daemon-lives': 'a daemon neither crashes nor stops unless it is told to',
  'whole-again': 'L1: when everything is healed, the fleet is whole again and nothing is left open',
  'nothing-left': 'daemons that stop in peace leave no timers and no sessions',
} as const;

/** The users' defaults, except that all machines may be created and conditions have effects. */
const configOf = ({ spares, hasWindows }: SimulationPlan): NonNullable<WorldOptions['config']> => ({
  provisioner: { maxMachines: 0 },
  conditions: { 'disk-failing': 'drain', [LIE]: 'no-new-work' },
  ...(spares > 0 && { recoverer: { retire: 'chronic' } }),
  ...(hasWindows && { windows: WINDOWS }),
});

/** The clock of a run begins at 22:13; the last window leaves time for all that waits. */
const WINDOWS = {
  evening: { at: '22:55', for: '30m' },
  midnight: { at: '23:45', for: '30m' },
  night: { at: '00:45', for: '3h' },
  morning: { at: '04:15', for: '12h' },
};

/** Reservations at a location. */
function shareOf({ machines, spares, locations }: SimulationPlan, at: number): number {
  const slots = machines + spares;
  return Math.floor(slots / locations) + (at < slots % locations ? 1 : 0);
}

const sleepIn = (clock: VirtualClock, ms: number) =>
  new Promise<void>((resolve) => void clock.setTimeout(() => resolve(), ms));

function apply(strike: PlannedFault, simulation: Simulation): void {
  const { recorder } = simulation;
  const hit = STRIKES[strike.kind].strike(simulation, strike.figures);
  recorder.strike(strike.kind, hit);
}

interface DaemonDeps extends Pick<Simulation, 'plan' | 'clock' | 'world' | 'recorder'> {
  readonly name: string;
  readonly delays: Interceptor;
  readonly facts: Facts;
  readonly report: ReportViolation;
}

function superviseDaemon(deps: DaemonDeps): SimulatedDaemon & { begin(): Promise<void> } {
  const { name, plan, clock, world, recorder, report, delays } = deps;
  const faults = createCallFaults(clock, ({ effect }, call) => {
    recorder.strike(`call-${effect}`, `${name} ${call.path}`);
    deps.facts.spoilt(effect, call);
  });
  const [recording, spoiling] = [recorder.of(name), inTurn(deps.facts.of(name), delays, faults)];
  // Records each call at the moment when it reaches the port.
  const wrap = <Port extends object>(port: Port, portName: string): Port =>
    interceptPort(interceptPort(port, portName, recording), portName, spoiling);
  let played: PlayedDaemon | null = null;
  let starts = 0;
  let isWanted = true;

  async function begin(): Promise<void> {
    starts += 1;
    const seedName = `${name} start ${starts}`;
    try {
      const started = await world.start({
        name,
        random: streamOf(plan.seed, seedName),
        bmdb: (bmdb) => wrap(bmdb, 'bmdb'),
        driven: (driven) => wrap(driven, 'provider'),
        shell: (shell) => wrap(shell, 'shell'),
        balancer: (balancer) => wrap(balancer, 'balancer'),
      });
      played = started;
      deps.facts.follow(started);
      void started.daemon.stopped.then(
        () => isWanted && ended('it stopped by itself'),
        (error: unknown) => ended(`it crashed: ${explain(error)}`),
      );
    } catch (error) {
      recorder.note(`${name} did not start: ${explain(error)}`);
      again(RESTART_MS);
    }
  }
  function ended(why: string) {
    report('daemon-lives', `${name}: ${why}`);
    played = null;
    again(RESTART_MS);
  }
  const again = (ms: number) => {
    if (isWanted) clock.setTimeout(() => void begin(), ms);
  };
  return {
    name,
    faults,
    begin,
    get played() {
      return played;
    },
    kill(downMs) {
      if (!played) return;
      deps.facts.killed(name);
      played.kill();
      played = null;
      again(downMs);
    },
    async restart() {
      const before = played;
      if (!before) return;
      played = null;
      isWanted = false;
      await before.daemon.stop();
      isWanted = true;
      await begin();
    },
    async stop() {
      isWanted = false;
      const before = played;
      played = null;
      await before?.daemon.stop();
    },
  };
}
