import { getBorderCharacters, table } from 'table';
import { measureBringUp } from '../fleet/bring-up.ts';
import { startServer, type Server } from '../fleet/database.ts';
import { prepareRace } from '../fleet/heartbeats.ts';
import { measureMirroring } from '../fleet/mirror.ts';
import { measureUpload } from '../fleet/upload.ts';
import { median, rounded } from '../measure.ts';
import type { Report, Suite, SuiteOptions } from '../suite.ts';

/** Agent starts at once, and how many machines make a measurement of some seconds. */
const BRING_UP = { 1: 500, 10: 2_000, 50: 4_000 } as const;
const FLEETS = [10_000, 100_000] as const;
const UPLOAD_BYTES = 30_000_000;
/** Of the heartbeats that a mirrored fleet sends, in spans of the options. */
const WATCHED_SPANS = 15;

export const suite: Suite = {
  summary: 'machines brought up, 100 000 in one process, uploads and heartbeats beside the peers',
  run: async (options) => {
    const server = await startServer();
    try {
      const bringUp = await bringUps(server, options);
      const race = await races(server, options);
      const upload = await uploads(options);
      const fleet = await fleets(server, options);
      return reportOf({ bringUp, race, upload, fleet });
    } finally {
      await server.close();
    }
  },
};

type Table = Record<string, number>;

async function bringUps(server: Server, options: SuiteOptions): Promise<Table> {
  const samples = new Map<string, number[]>();
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [parallelism, count] of Object.entries(BRING_UP)) {
      const machines = scaled(count, options);
      const rate = await measureBringUp({ server, machines, parallelism: Number(parallelism) });
      options.progress(`round ${round}: bring-up at ${parallelism}: ${rate.toFixed(0)} machines/s`);
      samples.set(parallelism, [...(samples.get(parallelism) ?? []), rate]);
    }
  }
  return Object.fromEntries([...samples].map(([name, rates]) => [name, rounded(median(rates))]));
}

async function races(server: Server, options: SuiteOptions) {
  const race = await prepareRace(server, 3 * options.spanMs);
  try {
    const rates = { ours: [] as number[], echo: [] as number[] };
    for (let round = 1; round <= options.rounds; round += 1) {
      rates.ours.push(await race.ours());
      rates.echo.push(await race.echo());
      const [ours, echo] = [rates.ours.at(-1)!, rates.echo.at(-1)!];
      options.progress(`round ${round}: heartbeats ${ours.toFixed(0)}, echo ${echo.toFixed(0)}/s`);
    }
    return { ours: median(rates.ours), echo: median(rates.echo) };
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

interface Mirrored {
  readonly mirroredSeconds: number;
  readonly heapKbPerMachine: number;
  readonly cpuPercent: number;
  readonly loopDelayP99Ms: number;
}

/** Once each: a minute and more, and what counts is whether the cost per machine grows. */
async function fleets(server: Server, options: SuiteOptions): Promise<Record<string, Mirrored>> {
  const empty = await measureMirroring(server, 0, 0);
  const found: Record<string, Mirrored> = {};
  for (const size of FLEETS) {
    const machines = scaled(size, options);
    const measured = await measureMirroring(server, machines, WATCHED_SPANS * options.spanMs);
    const { mirroredSeconds, heapKb, cpuPercent, loopDelayP99Ms } = measured;
    found[String(size)] = {
      mirroredSeconds: rounded(mirroredSeconds),
      heapKbPerMachine: rounded((heapKb - empty.heapKb) / machines),
      cpuPercent: rounded(cpuPercent),
      loopDelayP99Ms: rounded(loopDelayP99Ms),
    };
    options.progress(`${machines} machines: ${JSON.stringify(found[String(size)])}`);
  }
  return found;
}

interface Figures {
  readonly bringUp: Table;
  readonly fleet: Readonly<Record<string, Mirrored>>;
  readonly upload: Awaited<ReturnType<typeof measureUpload>>;
  readonly race: { readonly ours: number; readonly echo: number };
}

function reportOf({ bringUp, fleet, upload, race }: Figures): Report {
  const json = {
    bringUp,
    fleet,
    uploadRatio: rounded(upload.ours / upload.sftp),
    heartbeatsPerSecond: rounded(race.ours),
    heartbeatRatio: rounded(race.ours / race.echo),
    peers: {
      uploadMbPerSecond: rounded(upload.ours),
      sftpMbPerSecond: rounded(upload.sftp),
      grpcEchoesPerSecond: rounded(race.echo),
    },
  };
  const rows = [
    ...Object.entries(bringUp).map(([n, rate]) => [
      `reservation to started agent, ${n} at once`,
      `${rate} machines/s`,
    ]),
    ...Object.entries(fleet).flatMap(([machines, figures]) => [
      [`${machines} machines mirrored`, `${figures.mirroredSeconds} s`],
      ['  heap of each', `${figures.heapKbPerMachine} KB`],
      ['  CPU at a heartbeat each per 30 s', `${figures.cpuPercent} %`],
      ['  event loop delay, 99 %', `${figures.loopDelayP99Ms} ms`],
    ]),
    ['upload of 30 MB, connection included', `${json.peers.uploadMbPerSecond} MB/s`],
    ['  to that of sftp', String(json.uploadRatio)],
    ['heartbeats into the database', `${json.heartbeatsPerSecond}/s`],
    ['  to bare echoes of @grpc/grpc-js', String(json.heartbeatRatio)],
  ];
  return { json, table: table(rows, { border: getBorderCharacters('void') }).trimEnd() };
}

const scaled = (count: number, { scale }: SuiteOptions): number =>
  Math.max(1, Math.round(count * scale));
