import type { SimulationOutcome } from './simulation.ts';
import { secondsOf, timeOf } from './recorder.ts';

const LINES_MAX = 60;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * Formats a run for people: the strikes, the events of the machines that broken rules name, and the
 * broken rules, up to the first. Repeated lines are counted.
 */
export function tellStory({
  plan,
  violations,
  story,
}: Pick<SimulationOutcome, 'plan' | 'violations' | 'story'>): string[] {
  const named = new Set(violations.flatMap(({ detail }) => detail.match(UUID) ?? []));
  const untilMs = violations[0]?.atMs ?? Infinity;
  const about = story.filter(
    (line) =>
      secondsOf(line) * 1_000 <= untilMs &&
      (!isOfSlot(line) || named.size === 0 || [...named].some((id) => line.includes(id))),
  );
  const told: { readonly line: string; times: number }[] = [];
  for (const line of about) {
    const last = told.at(-1);
    if (last && wordsOf(last.line) === wordsOf(line)) last.times += 1;
    else told.push({ line, times: 1 });
  }
  const lines = told.map(({ line, times }) => (times > 1 ? `${line} (${times} times)` : line));
  const shown = lines.length > LINES_MAX ? ['…', ...lines.slice(-LINES_MAX)] : lines;
  const { daemons, machines, strikes } = plan;
  return [
    `${daemons} daemons, ${machines} machines, ${strikes.length} strikes`,
    ...shown,
    ...violations
      .slice(0, 5)
      .map(
        ({ atMs, rule, sentence, detail }) => `${timeOf(atMs)} ${rule} (${sentence}): ${detail}`,
      ),
  ];
}

/** Lines of the slots' logs are indented behind their time. */
const isOfSlot = (line: string): boolean => /^\S+ {3}/.test(line);
const wordsOf = (line: string): string => line.replace(/^\S+ /, '').replaceAll(/\d+/g, '0');
