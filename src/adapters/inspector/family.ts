import type { ActorRefLike, Snapshot } from 'xstate';
import type { Subject } from './port.ts';

/** The parts of an actor that are looked at, some of which XState does not declare. */
export type Actor = ActorRefLike & {
  readonly id?: string;
  readonly _parent?: Actor;
  readonly logic?: { readonly config?: { readonly id?: string } };
};

/** The id of an actor's statechart; null: it has none. */
export const chartOf = ({ logic }: Actor): string | null => logic?.config?.id ?? null;

/** The first cell stands for all others, where no machine is chosen. */
const FIRST_CELL = 'cell-0';
/** They decide for all machines. */
const FOR_ALL = ['guard', 'session'];

/** Asks once per actor whether it belongs to the subject, and keeps the answer as long as the actor lives. */
export function belongsTo(subject: Subject): (actor: Actor) => boolean {
  const answers = new WeakMap<object, boolean>();
  return (actor) => {
    const before = answers.get(actor);
    if (before !== undefined) return before;
    const answer = subject === null ? isSupervising(actor) : isOfMachine(actor, subject);
    answers.set(actor, answer);
    return answer;
  };
}

function isSupervising(actor: Actor): boolean {
  const root = lineOf(actor).at(-1)!;
  return chartOf(root) !== 'cell' || root.id === FIRST_CELL;
}

const isOfMachine = (actor: Actor, slot: string): boolean =>
  FOR_ALL.includes(chartOf(actor) ?? '') ||
  lineOf(actor).some((each) => each.id === slot && chartOf(each) === 'lifecycle');

/** An actor, its parent, and so on up to the root. */
function lineOf(actor: Actor): Actor[] {
  const line = [actor];
  for (let at = actor._parent; at; at = at._parent) line.push(at);
  return line;
}

/** The slot of the machine that the actor works on; null: it works on none. */
export const machineOf = (actor: Actor): Subject =>
  (lineOf(actor).find((each) => chartOf(each) === 'lifecycle')?.id ?? null) as Subject;

/** An actor and all that is below it, parents first. */
export function withDescendants(actor: Actor): Actor[] {
  const { children = {} } = actor.getSnapshot() as Snapshot<unknown> & {
    readonly children?: Readonly<Record<string, Actor | undefined>>;
  };
  const below = Object.values(children).filter((child) => child !== undefined);
  return [actor, ...below.flatMap(withDescendants)];
}
