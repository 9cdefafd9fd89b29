import type { ActorRefLike, Snapshot } from 'xstate';
import type { Subject } from './port.ts';

/** Fields of an actor that the inspector reads; XState does not declare all of them. */
export type Actor = ActorRefLike & {
  readonly id?: string;
  readonly _parent?: Actor;
  readonly logic?: { readonly config?: { readonly id?: string } };
};

const chartOf = ({ logic }: Actor): string | undefined => logic?.config?.id;

/** If no machine is chosen, the first cell stands for all. */
const FIRST_CELL = 'cell-0';
/** These actors decide for all machines. */
const FOR_ALL = ['guard', 'session'];

/** Checks once per actor whether it belongs to the subject. */
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

/** The actor, its parent, and so on up to the root. */
function lineOf(actor: Actor): Actor[] {
  const line = [actor];
  for (let at = actor._parent; at; at = at._parent) line.push(at);
  return line;
}

export const rootOf = (actor: Actor): Actor => lineOf(actor).at(-1)!;

/** Actors below a root that may belong to the subject, parents first. */
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
