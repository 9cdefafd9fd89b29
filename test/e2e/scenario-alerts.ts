import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { FAST } from '../../src/commands/scenarios/fast.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { metricsOf } from '../deploy/promql.ts';
import { RULES } from '../deploy/promtool.ts';
import { SHIPPED } from '../deploy/rules.ts';

/** Scenarios are played so many times as fast as life. */
const SPEED = DEFAULT_LOSS.heartbeatMs / FAST.heartbeatDeadlineMs;
const MINUTE = 60;
/** A minute of life. */
const STEP_MS = (MINUTE * 1_000) / SPEED;

/** Only what rules ask for is kept; but not how busy the computer is, which says nothing of the fleet. */
const WANTED = new Set(SHIPPED.flatMap(({ expr }) => metricsOf(expr)));
WANTED.delete('nodejs_eventloop_lag_p99_seconds');
/** Values in seconds that went by in the scenario, not in the life that it plays. */
const AGES = new Set(['shepherd_listing_age_seconds', 'shepherd_provision_intent_oldest_seconds']);
/** Moments, seconds since 1970. */
const MOMENTS = /_timestamp_seconds$|^tls_certificate_not_after_seconds$/;
/**
 * What loops and sessions wait for, the database and the computer, is no faster in a scenario than in
 * life: these are moments by the clock on the wall.
 */
const UNHURRIED = 'shepherd_loop_last_success_timestamp_seconds';
/** For the same reason a daemon that is not ready for less than so many seconds counts as ready. */
const UNREADY_SECONDS = 60;

/**
 * What a daemon exported, minute by minute of the life that the scenario plays. Each scrape is one minute,
 * however long its answer took: where the computer is so busy that scrapes come late, the life's clock goes
 * slower, and all moments and ages are told by that clock. So this shows what alerts follow from what the
 * daemon says of its fleet. Whether it answers in time is left out: `up` is 1 throughout, and
 * ShepherdDown is judged by the cases of the rules alone. What rests on how quick the database and the
 * computer are (loops, readiness) is told by the clock on the wall.
 */
export interface Recording {
  /** By series: its value at each step at which it was there. */
  readonly series: ReadonlyMap<string, ReadonlyMap<number, string>>;
  readonly steps: number;
}

/** What was read from `/metrics`, asked for at a moment (epoch milliseconds): the lines that rules ask for. */
export interface Scrape {
  readonly atMs: number;
  readonly lines: readonly string[];
}

/** Scrapes a daemon's console until `ended`. */
export async function scrapeUntil(port: number, ended: Promise<unknown>): Promise<Scrape[]> {
  const scrapes: Scrape[] = [];
  let isOver = false;
  const stop = () => (isOver = true);
  void ended.then(stop, stop);
  while (!isOver) {
    const at = performance.now();
    const atMs = Date.now();
    const body = await scrape(port);
    if (body !== null) scrapes.push({ atMs, lines: body.split('\n').filter(isWanted) });
    await sleep(Math.max(0, STEP_MS - (performance.now() - at)));
  }
  return scrapes;
}

const isWanted = (line: string): boolean => WANTED.has(/^[a-z_0-9]+/.exec(line)?.[0] ?? '');

/** From when the scenario began: what a fleet exports while it starts is no part of it. */
export function recordingOf(scrapes: readonly Scrape[], beganAt: string): Recording {
  const played = scrapes.filter(({ atMs }) => atMs >= Date.parse(beganAt));
  const series = new Map<string, Map<number, string>>();
  const scrapedAt: number[] = [];
  for (const { atMs, lines } of played) {
    scrapedAt.push(atMs / 1_000);
    take(series, scrapedAt, lines);
  }
  for (const [name, values] of series) {
    if (name.startsWith('shepherd_ready{')) passOverShort(values, scrapedAt);
  }
  return { series, steps: scrapedAt.length };
}

function passOverShort(values: Map<number, string>, scrapedAt: readonly number[]): void {
  let from = 0;
  for (let step = 0; step <= scrapedAt.length; step += 1) {
    if (step < scrapedAt.length && values.get(step) !== '1') continue;
    const seconds = (scrapedAt[step] ?? scrapedAt.at(-1)!) - scrapedAt[from]!;
    for (; seconds < UNREADY_SECONDS && from < step; from += 1) values.set(from, '1');
    from = step + 1;
  }
}

/** Null: nobody answers, as before the daemon has begun and after its end. */
async function scrape(port: number): Promise<string | null> {
  let answer: Response;
  try {
    answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    if (answer.ok) return await answer.text();
  } catch {
    return null;
  }
  throw new Error(`/metrics answered with ${answer.status}`);
}

function take(
  series: Map<string, Map<number, string>>,
  scrapedAt: readonly number[],
  lines: readonly string[],
): void {
  const step = scrapedAt.length - 1;
  const put = (name: string, value: string) => {
    const values = series.get(name) ?? new Map<number, string>();
    series.set(name, values.set(step, value));
  };
  put('up{instance="sim",job="shepherd"}', '1');
  for (const line of lines) {
    const [, name, labels = '', value] = /^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`no sample is read from ${line}`);
    const own = ['instance="sim",job="shepherd"', ...(labels === '' ? [] : [labels])].join(',');
    put(`${name}{${own}}`, asInLife(name, Number(value), scrapedAt));
  }
}

function asInLife(name: string, value: number, scrapedAt: readonly number[]): string {
  const step = scrapedAt.length - 1;
  const now = scrapedAt[step]!;
  if (AGES.has(name)) return String(step * MINUTE - lifeAt(now - value, scrapedAt));
  if (!MOMENTS.test(name)) return String(value);
  if (name === UNHURRIED) return String(step * MINUTE - (now - value));
  return String(lifeAt(value, scrapedAt));
}

/** Seconds of the life since the first scrape, at a moment in seconds since 1970. */
function lifeAt(moment: number, scrapedAt: readonly number[]): number {
  const before = scrapedAt.findLastIndex((at) => at <= moment);
  if (before < 0) return (moment - scrapedAt[0]!) * SPEED;
  const [from, to] = [scrapedAt[before]!, scrapedAt[before + 1]];
  const part =
    to === undefined ? (moment - from) * SPEED : ((moment - from) / (to - from)) * MINUTE;
  return before * MINUTE + part;
}

/**
 * The alerts that the rules raise for what was recorded, at any time of it; as Prometheus' own program
 * finds them.
 * @returns what promtool says: empty when they are exactly the expected ones.
 */
export async function alertsDiffer(
  { series, steps }: Recording,
  expected: readonly string[],
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-alerts-'));
  try {
    const file = join(directory, 'recorded.yml');
    const inputs = [...series].map(([name, values]) => ({
      series: name,
      values: course(values, steps),
    }));
    writeFileSync(file, stringify(testOf(inputs, steps, expected), { lineWidth: 0 }));
    return await new Promise((resolve, reject) => {
      execFile('promtool', ['test', 'rules', file], (error, stdout, stderr) => {
        if (error === null) resolve('');
        else if (typeof error.code === 'number') resolve(`${stdout}${stderr}`);
        else reject(error);
      });
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Whether more than two in a hundred were silent for ten minutes on end, by what was recorded. */
export const wereLost = (recording: Recording): boolean =>
  lasted(recording, 10, (of) => of('silent_machines') / of('started_machines') > 0.02);

/** Whether all that may be were being recovered, and more were silent, for half an hour on end. */
export const wasSpent = (recording: Recording): boolean =>
  lasted(
    recording,
    30,
    // A permit is free for a moment between two machines.
    (of) => of('permits', 5) >= of('budget') && of('silent_machines') > of('permits'),
  );

/** Whether it was so of any scope of the guard for so many minutes on end. */
function lasted(
  { series, steps }: Recording,
  minutesMin: number,
  isSo: (of: (gauge: string, atMostMinutesAgo?: number) => number) => boolean,
): boolean {
  const SILENT = 'shepherd_guard_silent_machines';
  const scopes = [...series.keys()].filter((name) => name.startsWith(SILENT));
  return scopes.some((name) => {
    let minutes = -1;
    return Array.from({ length: steps }, (_, step) => {
      const of = (gauge: string, atMostMinutesAgo = 0) => {
        const values = series.get(name.replace(SILENT, `shepherd_guard_${gauge}`))!;
        const window = Array.from({ length: atMostMinutesAgo + 1 }, (_, ago) => step - ago);
        const known = window.flatMap((each) => values.get(each) ?? []).map(Number);
        return known.length === 0 ? Number.NaN : Math.max(...known);
      };
      minutes = isSo(of) ? minutes + 1 : -1;
      return minutes >= minutesMin;
    }).includes(true);
  });
}

const course = (values: ReadonlyMap<number, string>, steps: number): string =>
  Array.from({ length: steps }, (_, step) => values.get(step) ?? '_').join(' ');

const testOf = (input_series: readonly object[], steps: number, expected: readonly string[]) => ({
  rule_files: [RULES],
  evaluation_interval: '1m',
  tests: [
    {
      interval: '1m',
      input_series,
      promql_expr_test: [
        {
          expr: 'group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[30d]))',
          eval_time: `${steps - 1}m`,
          exp_samples: expected.map((alert) => ({
            labels: `{alertname="Shepherd${alert}"}`,
            value: 1,
          })),
        },
      ],
    },
  ],
});
