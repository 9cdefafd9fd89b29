import { setTimeout } from 'node:timers/promises';
import type { Random } from '../../src/adapters/clock/port.ts';
import type { DaemonUnit, FailoverStage } from './stage.ts';

/** A request of an operator as the operator saw it. */
export interface Submission {
  readonly key: string;
  readonly verb: string;
  readonly slot: string;
  /** Null: never acknowledged, so it may have been made or not. */
  acknowledgedAtMs: number | null;
  refusal: string | null;
}

export interface ShownMachine {
  readonly slot: string;
  readonly machineId: string | null;
  readonly state: string;
  readonly substate: string;
  readonly reason: string | null;
}

export interface Operator {
  readonly submissions: readonly Submission[];
  machines(unit: DaemonUnit): Promise<readonly ShownMachine[]>;
  /** Submits to this daemon or, repeating it, to any. Resolves when it was answered or given up. */
  submit(body: Body, units: readonly DaemonUnit[]): Promise<Submission>;
  /** Whether the daemon is ready, takes a request, and says that it was carried out. */
  isServed(unit: DaemonUnit): Promise<boolean>;
  /** The daemon's last answer to `isServed`. */
  lastAnswer(unit: DaemonUnit): string | undefined;
  /** Submits requests until `stop`. */
  begin(): { stop(): Promise<void> };
  /** Sent to these slots before faults: see {@link Submission}. */
  slots: readonly string[];
}

interface Body {
  readonly verb: string;
  readonly slots: readonly string[];
  readonly [more: string]: unknown;
}

const CALL_MS = 10_000;
const TRIES = 40;
const PAUSE_MS = 300;
/** Between two requests of the load. */
const GAP_MS = 400;

export function createOperator(
  { units, token }: Pick<FailoverStage, 'units' | 'token'>,
  random: Random,
): Operator {
  const submissions: Submission[] = [];
  const answers = new Map<DaemonUnit, string>();
  const authorization = `Bearer ${token}`;
  const call = (unit: DaemonUnit, path: string, init: RequestInit = {}) =>
    fetch(new URL(path, unit.consoleUrl()), {
      ...init,
      headers: { authorization, ...(init.headers as Record<string, string>) },
      signal: AbortSignal.timeout(CALL_MS),
    });
  const post = (unit: DaemonUnit, body: Body, key: string, prefer: string) =>
    call(unit, '/api/v1/requests', {
      method: 'POST',
      headers: { 'idempotency-key': key, 'content-type': 'application/json', prefer },
      body: JSON.stringify({ reason: 'failover test', ...body }),
    });

  const begun = ({ verb, slots }: Body): Submission => {
    const asked = { verb, slot: slots[0]!, acknowledgedAtMs: null, refusal: null };
    submissions.push({ key: random.uuid(), ...asked });
    return submissions.at(-1)!;
  };
  const submit: Operator['submit'] = async (body, among) => {
    const asked = begun(body);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const unit = among[tries % among.length]!;
      const answer = await Promise.resolve()
        .then(() => post(unit, body, asked.key, 'wait=0'))
        .catch(() => null);
      const text = await answer?.text().catch(() => null);
      if (answer?.ok && typeof text === 'string') {
        asked.acknowledgedAtMs = Date.now();
        return asked;
      }
      if (answer && typeof text === 'string' && answer.status < 500 && answer.status !== 429) {
        asked.refusal = `${answer.status} ${text}`;
        return asked;
      }
      await setTimeout(PAUSE_MS);
    }
    return asked;
  };

  const operator: Operator = {
    slots: [],
    submissions,
    submit,
    async machines(unit) {
      const answer = await call(unit, '/api/v1/machines?limit=1000');
      if (!answer.ok) throw new Error(`${answer.status}`);
      return ((await answer.json()) as { machines: ShownMachine[] }).machines;
    },
    async isServed(unit) {
      const ready = await call(unit, '/readyz').catch(() => null);
      answers.set(unit, `${ready?.status} ${await ready?.text().catch(() => '')}`);
      if (!ready?.ok) return false;
      // Not always the same: the database may have lost the machine of one slot.
      const slot = operator.slots[Math.floor(random.next() * operator.slots.length)]!;
      const body = { verb: 'label', slots: [slot], set: `round=${random.uuid().slice(0, 8)}` };
      const asked = begun(body);
      const answer = await post(unit, body, asked.key, 'wait=5').catch(() => null);
      const text = await answer?.text().catch(() => null);
      answers.set(unit, `${slot}: ${answer?.status} ${text}`);
      if (!answer || typeof text !== 'string' || answer.status >= 500) return false;
      // An older version says this while it begins, too: it does not know all machines yet.
      if (answer.status === 404) return false;
      if (!answer.ok) throw new Error(`${answer.status} ${text}`);
      asked.acknowledgedAtMs = Date.now();
      return (JSON.parse(text) as { state: string }).state === 'done';
    },
    lastAnswer: (unit) => answers.get(unit),
    begin() {
      let isOver = false;
      const going = (async () => {
        for (let count = 0; !isOver; count += 1) {
          const slot = operator.slots[Math.floor(random.next() * operator.slots.length)]!;
          const first = count % units.length;
          const among = [...units.slice(first), ...units.slice(0, first)];
          void submit({ verb: 'label', slots: [slot], set: `count=${count}` }, among);
          await setTimeout(GAP_MS);
        }
      })();
      return {
        async stop() {
          isOver = true;
          await going;
        },
      };
    },
  };
  return operator;
}
