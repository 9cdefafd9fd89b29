import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { root } from '../repo/sources.ts';
import { isProvided } from '../support/programs.ts';

export const RULES = join(root, 'deploy/prometheus/shepherd.rules.yml');
export const CONSOLE = 'https://shepherd.example.org';

/** A rule's test: samples, one per step, and the expected alerts. */
export interface PromCase {
  readonly name: string;
  readonly series: Readonly<Record<string, string>>;
  readonly alert: string;
  /** Steps after the first sample. */
  readonly at: number;
  readonly step: '1m' | '1h';
  readonly expected: readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  }[];
}

const PROMTOOL = 'promtool';

/** Whether Prometheus' promtool is installed. Without it, rules are only parsed. */
export const hasPromtool: boolean = isProvided(
  spawnSync(PROMTOOL, ['--version']).error === undefined,
  { tested: 'that alerts fire and are silent', by: 'prometheus' },
);

/** Runs all cases in one process, each with its alert's rules. Returns promtool's complaints. */
export async function runPromtool(cases: readonly PromCase[]): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-rules-'));
  try {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: RuleGroup[] };
    const kinds = Map.groupBy(cases, ({ alert, step }) => `${alert}-${step}`);
    const files = [...kinds].map(([kind, of]) => {
      const { alert, step } = of[0]!;
      const [rules, file] = [join(directory, `${kind}.rules.yml`), join(directory, `${kind}.yml`)];
      const ofAlert = groups.map((group) => ({
        ...group,
        rules: group.rules.filter((rule) => rule.alert === alert),
      }));
      writeFileSync(rules, stringify({ groups: ofAlert }, { lineWidth: 0 }));
      writeFileSync(file, stringify(testFile(step, rules, of), { lineWidth: 0 }));
      return file;
    });
    return await new Promise((resolve, reject) => {
      execFile(PROMTOOL, ['test', 'rules', ...files], (error, stdout, stderr) => {
        if (error === null) resolve('');
        else if (typeof error.code === 'number') resolve(`${stdout}${stderr}`);
        else reject(error);
      });
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

interface RuleGroup {
  readonly rules: readonly { readonly alert: string }[];
}

const testFile = (step: PromCase['step'], rules: string, cases: readonly PromCase[]) => ({
  rule_files: [rules],
  evaluation_interval: step,
  tests: cases.map(({ name, series, alert, at, expected }) => ({
    name,
    interval: step,
    external_labels: { console: CONSOLE },
    input_series: Object.entries(series).map(([each, values]) => ({ series: each, values })),
    alert_rule_test: [
      {
        eval_time: `${at}${step.at(-1)}`,
        alertname: alert,
        exp_alerts: expected.map(({ labels, annotations }) => ({
          exp_labels: labels,
          exp_annotations: annotations,
        })),
      },
    ],
  })),
});
