import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FromDaemon, Setup, ToDaemon } from './messages.ts';

const WORKER = join(import.meta.dirname, 'worker.ts');
const UNFENCED = join(import.meta.dirname, 'unfenced.ts');

/** One start of one daemon. */
export interface WorkerRun {
  readonly name: string;
  readonly place: number;
  readonly child: ChildProcess;
  ready: boolean;
  frozen: boolean;
  ended: boolean;
  /** The test ended it; any other end is a failure of the test. */
  expected: boolean;
  readonly isUnfenced: boolean;
  readonly startedAtMs: number;
  readyAtMs: number | null;
}

export interface WorkersOptions {
  readonly cacheDir: string;
  /** The settings of a run. */
  readonly setupFor: (at: number, run: string) => Setup;
  readonly onEffect: (
    run: string,
    effect: FromDaemon & { type: 'effect' },
    reply: (to: ToDaemon) => void,
  ) => void;
}

/** The test's daemons: one place per daemon, each with a run or, for a moment, none. */
export interface Workers {
  readonly runs: readonly WorkerRun[];
  /** Runs that ended by themselves, with their output. */
  readonly surprises: readonly string[];
  /** The place's present run. */
  at(place: number): WorkerRun | undefined;
  start(place: number): void;
  kill(place: number): Promise<void>;
  freeze(place: number): void;
  thaw(place: number): void;
  send(run: WorkerRun, message: ToDaemon): void;
  tellAll(message: ToDaemon): void;
  /** Runs that take work: started and not frozen. */
  ready(): WorkerRun[];
  /** Ends all in order; resolves when they are gone. */
  stop(): Promise<void>;
  /** Ends all at once, in any state. */
  killAll(): Promise<void>;
}

export function createWorkers({ cacheDir, setupFor, onEffect }: WorkersOptions): Workers {
  const runs: WorkerRun[] = [];
  const surprises: string[] = [];
  const places = new Map<number, WorkerRun>();
  const starts = new Map<number, number>();

  const send = ({ child }: WorkerRun, message: ToDaemon) => {
    if (child.connected) child.send(message, () => undefined);
  };
  const end = async (run: WorkerRun, signal: NodeJS.Signals) => {
    run.expected = true;
    if (run.ended) return;
    const gone = once(run.child, 'exit');
    run.child.kill(signal);
    await gone;
  };

  return {
    runs,
    surprises,
    send,
    at: (place) => places.get(place),
    start(place) {
      const count = (starts.get(place) ?? 0) + 1;
      starts.set(place, count);
      const name = `daemon ${place} run ${count}`;
      const setup = setupFor(place, name);
      const child = fork(WORKER, [], {
        execPath: process.execPath,
        execArgv: [
          '--disable-warning=ExperimentalWarning',
          ...(setup.isUnfenced ? ['--import', UNFENCED] : []),
        ],
        env: { ...process.env, NODE_COMPILE_CACHE: cacheDir },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      });
      const run: WorkerRun = {
        name,
        place,
        child,
        ready: false,
        frozen: false,
        ended: false,
        expected: false,
        isUnfenced: setup.isUnfenced ?? false,
        startedAtMs: Date.now(),
        readyAtMs: null,
      };
      let said = '';
      child.stderr!.on('data', (bytes: Buffer) => {
        said = (said + bytes.toString()).slice(-2_000);
        if (process.env['FAULTS_LOG']) process.stderr.write(bytes);
      });
      child.on('message', (message: FromDaemon) => {
        if (message.type === 'effect') return onEffect(name, message, (to) => send(run, to));
        run.ready = true;
        run.readyAtMs = Date.now();
      });
      child.on('exit', (code, signal) => {
        run.ended = true;
        run.ready = false;
        if (!run.expected) surprises.push(`${name} ended with ${code ?? signal}: ${said}`);
      });
      runs.push(run);
      places.set(place, run);
      send(run, { type: 'setup', setup });
    },
    async kill(place) {
      const run = places.get(place);
      if (run) await end(run, 'SIGKILL');
    },
    freeze(place) {
      const run = places.get(place)!;
      run.frozen = true;
      run.child.kill('SIGSTOP');
    },
    thaw(place) {
      const run = places.get(place)!;
      run.frozen = false;
      run.child.kill('SIGCONT');
    },
    tellAll: (message) => runs.filter((run) => !run.ended).forEach((run) => send(run, message)),
    ready: () => runs.filter((run) => run.ready && !run.frozen && !run.ended),
    async stop() {
      const left = runs.filter((run) => !run.ended);
      const gone = left.map((run) => once(run.child, 'exit'));
      for (const run of left) {
        run.expected = true;
        send(run, { type: 'stop' });
      }
      await Promise.all(gone);
    },
    killAll: async () => {
      await Promise.all(runs.map((run) => end(run, 'SIGKILL')));
    },
  };
}
