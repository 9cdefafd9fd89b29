import type { ActorRefLike, Snapshot } from 'xstate';
import type { Subject } from './port.ts';

/** The parts of an actor that are looked at, some of which XState does not declare. */
export type Actor = ActorRefLike & {
  readonly id?: string;
  readonly _parent?: Actor;
  readonly logic?: { readonly config?: { readonly id?: string } };
};

const chartOf = ({ logic }: Actor): string | undefined => logic?.config?.id;

/** The first cell stands for all others, where no machine is chosen. */
const FIRST_CELL = 'cell-0';
/** They decide for all machines. */
const FOR_ALL = ['guard', 'session'];

/** Asks once per actor whether it belongs to the subject, and keeps the answer as long as the actor lives. */
export function belongsTo(subject: Subject): (actor: Actor) => boolean {
  const answers = new WeakMap<Actor, boolean>();
  return (actor) => {
    const before = answers.get(actor);
    if (before !== undefined) return before;
    const answer = subject === null ? isSupervising(actor) : isOfMachine(actor, subject);
    answers.set(actor, answer);
    return answer;
  };
}

function isSupervising(actor: Actor): boolean {
  const root = rootOf(actor);
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

export const rootOf = (actor: Actor): Actor => lineOf(actor).at(-1)!;

/** The actors beneath a root that the subject may include, parents first. */
export function membersOf(root: Actor, subject: Subject): Actor[] {
  if (subject === null || chartOf(root) !== 'cell') return withDescendants(root);
  const machine = childrenOf(root)[subject];
  return machine ? withDescendants(machine) : [];
}

const childrenOf = (actor: Actor) =>
  (actor.getSnapshot() as Snapshot<unknown> & { children?: Record<string, Actor | undefined> })
    .children ?? {};

function withDescendants(actor: Actor): Actor[] {
  const below = Object.values(childrenOf(actor)).filter((child) => child !== undefined);
  return [actor, ...below.flatMap(withDescendants)];
}
