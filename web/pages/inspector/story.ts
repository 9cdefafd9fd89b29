import { parseShown } from '../../api/shown.ts';

/** The parts of a message of `@statelyai/inspect` that the page reads. */
export interface Message {
  readonly type: '@xstate.actor' | '@xstate.event' | '@xstate.snapshot';
  readonly sessionId: string;
  /** Epoch ms, as text. */
  readonly createdAt: string;
  readonly name?: string;
  readonly parentId?: string;
  readonly definition?: string;
  readonly snapshot?: Snapshot;
  readonly event?: { readonly type: string };
  readonly sourceId?: string;
}
export interface Snapshot {
  readonly status?: string;
  readonly value?: unknown;
  readonly context?: unknown;
  readonly error?: unknown;
}

/** The state of an actor at one moment. */
export interface ActorThen {
  readonly id: string;
  readonly name: string;
  readonly parent: string | null;
  /** Id of its statechart. Null: the actor is a call and has no statechart. */
  readonly chart: string | null;
  readonly snapshot: Snapshot;
  /** The first message about this actor. */
  readonly registration: Message;
}
export type Actors = ReadonlyMap<string, ActorThen>;

/** Messages about actors, oldest first, and the actors before the first message. */
export interface Story {
  readonly before: Actors;
  readonly messages: readonly Message[];
  /** Number of messages before the first of `messages`. */
  readonly forgotten: number;
}
export const NOTHING: Story = { before: new Map(), messages: [], forgotten: 0 };

/** Number of steps that the reader can go back. */
export const SNAPSHOTS_MAX = 500;
const MESSAGES_MAX = 3_000;

/** Drops the oldest messages of a growing story. */
export function told(story: Story, news: readonly Message[]): Story {
  const messages = [...story.messages, ...news];
  let [snapshots, from] = [0, messages.length];
  while (from > 0 && messages.length - from < MESSAGES_MAX) {
    if (messages[from - 1]!.type === '@xstate.snapshot') snapshots += 1;
    if (snapshots > SNAPSHOTS_MAX) break;
    from -= 1;
  }
  if (from === 0) return { ...story, messages };
  return {
    before: living(after(story.before, messages.slice(0, from))),
    messages: messages.slice(from),
    forgotten: story.forgotten + from,
  };
}

/** @throws {SyntaxError} the text is not a recording. The message names the line and the fault. */
export function readRecording(text: string): Story {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new SyntaxError('the file is empty');
  return { ...NOTHING, messages: lines.map(readLine) };
}

/** The recording as a file: first the actors before the first message, then the messages. */
export function recordingOf({ before, messages }: Story): string {
  const actors = [...before.values()].map(({ registration, snapshot }) => ({
    ...registration,
    snapshot,
  }));
  return [...actors, ...messages].map((message) => `${JSON.stringify(message)}\n`).join('');
}

function readLine(line: string, at: number): Message {
  const wrong = (what: string) => new SyntaxError(`line ${at + 1} ${what}`);
  let message: Partial<Message> | null;
  try {
    message = parseShown(line) as Partial<Message> | null;
  } catch (error) {
    throw new SyntaxError(wrong('is not JSON').message, { cause: error });
  }
  const { type, sessionId } = message ?? {};
  if (typeof sessionId !== 'string' || !type?.startsWith('@xstate.')) {
    throw wrong('is no message of an inspector');
  }
  return message as Message;
}

/** The actors after these messages. */
export function after(before: Actors, messages: readonly Message[]): Actors {
  const actors = new Map(before);
  for (const message of messages) {
    const { type, sessionId: id, snapshot = {} } = message;
    if (type === '@xstate.event') continue;
    const known = actors.get(id);
    if (type === '@xstate.actor') actors.set(id, registered(message));
    else if (known) actors.set(id, { ...known, snapshot: { ...known.snapshot, ...snapshot } });
  }
  return actors;
}

function registered(registration: Message): ActorThen {
  const { sessionId: id, name = id, parentId = null, definition, snapshot = {} } = registration;
  const defined = JSON.parse(definition ?? '{}') as { readonly id?: string };
  // A call has only a name.
  const isChart = 'states' in defined || 'on' in defined;
  const chart = isChart ? (defined.id ?? null) : null;
  return { id, name, parent: parentId, chart, snapshot, registration };
}

export const isOver = ({ snapshot }: ActorThen): boolean =>
  (snapshot.status ?? 'active') !== 'active';
const living = (actors: Actors): Actors =>
  new Map([...actors].filter(([, actor]) => !isOver(actor)));

/** `a`, `a.b`; one path for each parallel region. */
export function pathsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const below = pathsOf(inner);
    return below.length === 0 ? [name] : below.map((path) => `${name}.${path}`);
  });
}

/** A line of the sequence: an event, or an actor that started, changed its state, or ended. */
export interface Step {
  /** Number of its message since the story began. The step shows all messages up to it. */
  readonly number: number;
  readonly atMs: number;
  readonly kind: 'event' | 'state';
  /** Null: the sender is not shown. */
  readonly from: ActorThen | null;
  readonly to: ActorThen;
  readonly text: string;
}

/** The lines of a story. Snapshots without a change of state get no line. */
export function stepsOf({ before, messages, forgotten }: Story): Step[] {
  const steps: Step[] = [];
  let actors = before;
  for (const [at, message] of messages.entries()) {
    const then = actors;
    actors = after(actors, [message]);
    const to = actors.get(message.sessionId);
    if (!to) continue;
    const common = { number: forgotten + at, atMs: Number(message.createdAt), to };
    if (message.type === '@xstate.event') {
      const from = actors.get(message.sourceId ?? '') ?? null;
      steps.push({ ...common, kind: 'event', from, text: message.event?.type ?? '' });
      continue;
    }
    const text = stateText(to);
    const was = then.get(to.id);
    if (message.type === '@xstate.snapshot' && was && stateText(was) === text) continue;
    if (text !== '') steps.push({ ...common, kind: 'state', from: null, text });
  }
  return steps;
}

/** The states of an actor. For a call, only how it ended. */
export function stateText(actor: ActorThen): string {
  const { value, status = 'active' } = actor.snapshot;
  const paths = pathsOf(value).map((path) => path.replace(/^alive\.(?:life\.)?/, ''));
  if (isOver(actor)) return paths.length > 0 ? `${paths.join(', ')} (${status})` : status;
  return paths.join(', ');
}
