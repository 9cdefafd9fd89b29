import { countChartWork, measureBringUp, type BroughtUp } from '../fleet/bring-up.ts';
import { startServer, type Server } from '../fleet/database.ts';
import { prepareHeartbeats, type OpenLoop } from '../fleet/heartbeats.ts';
import { measureMirroring, type MirrorResult } from '../fleet/mirror.ts';
import { measureUpload } from '../fleet/upload.ts';
import { allRounded, median, rounded } from '../measure.ts';
import { scaled, textOf, type Report, type Suite, type SuiteOptions } from '../suite.ts';

/** Agent starts at once, and how many machines make a measurement of some seconds. */
const BRING_UP = { 1: 1_500, 10: 2_000, 50: 4_000 } as const;
/** So many that the events of everything else are few beside theirs. */
const WATCHED_MACHINES = 200;
const FLEETS = [10_000, 100_000] as const;
const UPLOAD_BYTES = 30_000_000;
/** Of the heartbeats that a mirrored fleet sends, in spans of the options. */
const WATCHED_SPANS = 15;

export const suite: Suite = {
  summary: 'machines brought up, 100 000 in one process, uploads and heartbeats beside the peers',
  run: async (options) => {
    const server = await startServer();
    try {
      const broughtUp = await bringUps(server, options);
      const race = await races(server, options);
      const upload = await uploads(options);
      const fleet = await fleets(server, options);
      return reportOf({ broughtUp, race, upload, fleet });
    } finally {
      await server.close();
    }
  },
};

type Table = Record<string, number>;

/** All by parallelism. */
async function bringUps(server: Server, options: SuiteOptions) {
  const samples = new Map<string, BroughtUp[]>();
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [parallelism, count] of Object.entries(BRING_UP)) {
      const machines = scaled(count, options);
      const sample = await measureBringUp({ server, machines, parallelism: Number(parallelism) });
      options.progress(`round ${round}: bring-up at ${parallelism}: ${JSON.stringify(sample)}`);
      samples.set(parallelism, [...(samples.get(parallelism) ?? []), sample]);
    }
  }
  const medians = (name: keyof BroughtUp): Table =>
    Object.fromEntries(
      [...samples].map(([at, each]) => [at, rounded(median(each.map((one) => one[name])))]),
    );
  const eventsPerMachine: Table = {};
  const microstepsPerMachine: Table = {};
  for (const at of samples.keys()) {
    const machines = scaled(WATCHED_MACHINES, options);
    const watched = { server, machines, parallelism: Number(at) };
    const counted = await countChartWork(watched);
    eventsPerMachine[at] = rounded(counted.eventsPerMachine);
    microstepsPerMachine[at] = rounded(counted.microstepsPerMachine);
  }
  return {
    bringUp: medians('machinesPerSecond'),
    statementsPerMachine: medians('statementsPerMachine'),
    cpuMsPerMachine: medians('cpuMsPerMachine'),
    eventsPerMachine,
    microstepsPerMachine,
  };
}

async function races(server: Server, options: SuiteOptions) {
  const { scale, spanMs } = options;
  const race = await prepareHeartbeats({ server, scale, spanMs: 3 * spanMs });
  try {
    const rates = { ours: [] as number[], echo: [] as number[] };
    for (let round = 1; round <= options.rounds; round += 1) {
      rates.ours.push(await race.ours());
      rates.echo.push(await race.echo());
      const [ours, echo] = [rates.ours.at(-1)!, rates.echo.at(-1)!];
      options.progress(`round ${round}: heartbeats ${ours.toFixed(0)}, echo ${echo.toFixed(0)}/s`);
    }
    const openLoop = await race.openLoop(options.progress);
    return { ours: median(rates.ours), echo: median(rates.echo), openLoop };
  } finally {
    race.close();
  }
}

async function uploads(options: SuiteOptions) {
  const sizeBytes = scaled(UPLOAD_BYTES, options);
  const measured = await measureUpload({ sizeBytes, rounds: options.rounds });
  options.progress(`upload of ${sizeBytes} bytes: ${JSON.stringify(measured)}`);
  return measured;
}

type Mirrored = Omit<MirrorResult, 'heapKb'> & { readonly heapKbPerMachine: number };

/** Once each: a minute and more, and what counts is whether the cost per machine grows. */
async function fleets(server: Server, options: SuiteOptions): Promise<Record<string, Mirrored>> {
  const empty = await measureMirroring(server, 0, 0);
  const found: Record<string, Mirrored> = {};
  for (const size of FLEETS) {
    const machines = scaled(size, options);
    const spanMs = WATCHED_SPANS * options.spanMs;
    const { heapKb, ...measured } = await measureMirroring(server, machines, spanMs);
    const heapKbPerMachine = (heapKb - empty.heapKb) / machines;
    found[String(size)] = allRounded<Mirrored>({ ...measured, heapKbPerMachine });
    options.progress(`${machines} machines: ${JSON.stringify(found[String(size)])}`);
  }
  return found;
}

interface Figures {
  readonly broughtUp: Awaited<ReturnType<typeof bringUps>>;
  readonly fleet: Readonly<Record<string, Mirrored>>;
  readonly upload: Awaited<ReturnType<typeof measureUpload>>;
  readonly race: { readonly ours: number; readonly echo: number; readonly openLoop: OpenLoop };
}

function reportOf({ broughtUp, fleet, upload, race }: Figures): Report {
  const { cpuUsPerHeartbeat, ...openLoop } = race.openLoop;
  const json = {
    ...broughtUp,
    fleet,
    uploadRatio: rounded(upload.ours / upload.sftp),
    heartbeatsPerSecond: rounded(race.ours),
    heartbeatRatio: rounded(race.ours / race.echo),
    openLoop: {
      ...allRounded<typeof openLoop>(openLoop),
      ...{ agents: openLoop.agents, connections: openLoop.connections },
      cpuUsPerHeartbeat: allRounded<typeof cpuUsPerHeartbeat>(cpuUsPerHeartbeat),
    },
    peers: {
      uploadMbPerSecond: rounded(upload.ours),
      sftpMbPerSecond: rounded(upload.sftp),
      grpcEchoesPerSecond: rounded(race.echo),
    },
  };
  const rows = [
    ...Object.entries(broughtUp.bringUp).flatMap(([n, rate]) => [
      [`reservation to started agent, ${n} at once`, `${rate} machines/s`],
      ['  statements of each', String(broughtUp.statementsPerMachine[n])],
      ['  CPU of each', `${broughtUp.cpuMsPerMachine[n]} ms`],
      ['  events of each', String(broughtUp.eventsPerMachine[n])],
      ['  microsteps of each', String(broughtUp.microstepsPerMachine[n])],
    ]),
    ...Object.entries(fleet).flatMap(([machines, figures]) => [
      [`${machines} machines mirrored`, `${figures.mirroredSeconds} s`],
      ['  heap of each', `${figures.heapKbPerMachine} KB`],
      ['  CPU at a heartbeat each per 30 s', `${figures.cpuPercent} %`],
      ['  CPU of a full scan', `${figures.scanCpuSeconds} s`],
      ['  event loop delay, 99 %', `${figures.loopDelayP99Ms} ms`],
      ['  event loop delay, most', `${figures.loopDelayMaxMs} ms`],
    ]),
    ['upload of 30 MB, connection included', `${json.peers.uploadMbPerSecond} MB/s`],
    ['  to that of sftp', String(json.uploadRatio)],
    ['heartbeats into the database', `${json.heartbeatsPerSecond}/s`],
    ['  to bare echoes of @grpc/grpc-js', String(json.heartbeatRatio)],
    ['agents at 30 s that are answered within 100 ms', String(openLoop.agents)],
    ['  99 % of their answers take at most', `${json.openLoop.p99Ms} ms`],
    ['  memory of a connection', `${json.openLoop.memoryKbPerConnection} KB`],
    ['  CPU of a handshake', `${json.openLoop.cpuMsPerHandshake} ms`],
    ...Object.entries(json.openLoop.cpuUsPerHeartbeat).map(([part, us]) => [
      `  CPU of a heartbeat: ${part}`,
      `${us} µs`,
    ]),
  ];
  return { json, table: textOf(rows) };
}
