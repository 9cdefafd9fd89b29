import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { InspectionEvent } from 'xstate';
import { rootOf, type Actor } from './family.ts';
import { sanitise } from './sanitise.ts';

/** Version of the library that defines these messages. */
const VERSION = '0.7.2';
const MESSAGE_MAX_LENGTH = 128 * 1024;

/*
 * The library translates XState's events one turn later, from the live actor, before its own
 * sanitisers see them. These functions make the same messages at once, from sanitised copies.
 */

/** Message for an event of XState; null if its kind is not shown. A hidden sender is left out. */
export function messageOf(
  event: InspectionEvent,
  atMs: number,
  isShown: (actor: Actor) => boolean,
): StatelyInspectionEvent | null {
  const { type } = event;
  // The actor is being created: it has no state yet, and must not be asked for it.
  if (type === '@xstate.actor') return registrationOf(event.actorRef, atMs, {});
  const common = commonOf(event.actorRef, atMs);
  if (type === '@xstate.event') {
    const { sourceRef } = event;
    const sourceId = sourceRef && isShown(sourceRef) ? sourceRef.sessionId : undefined;
    return { ...common, type, event: sanitised(event.event), sourceId };
  }
  if (type !== '@xstate.snapshot') return null;
  const snapshot = plainSnapshot(event.snapshot);
  return { ...common, type, event: sanitised(event.event), snapshot };
}

/** Announces an actor with its statechart and state. */
export function registrationOf(
  actor: Actor,
  atMs: number,
  snapshot: unknown = actor.getSnapshot(),
): StatelyInspectionEvent {
  const { id = actor.sessionId, sessionId, _parent } = actor;
  // For a promise actor: the name of its function.
  const config = typeof actor.logic?.config === 'object' ? actor.logic.config : null;
  const name = id === sessionId ? (config?.id ?? id) : id;
  return {
    ...commonOf(actor, atMs),
    type: '@xstate.actor',
    name,
    definition: config ? definitionOf(config) : JSON.stringify({ id: name }),
    parentId: _parent?.sessionId,
    snapshot: plainSnapshot(snapshot),
  };
}

const commonOf = (actor: Actor, atMs: number) => ({
  ...{ rootId: rootOf(actor).sessionId, sessionId: actor.sessionId, createdAt: `${atMs}` },
  // The library leaves the id empty, too.
  ...{ id: null as unknown as string, _version: VERSION },
});

const sanitised = <Value>(value: Value): Value => sanitise(value) as Value;

/** Statecharts are few and large, and each has many actors. */
const definitions = new WeakMap<object, string>();
/** Leaves out a statechart's only data, the initial context. Functions become their names. */
function definitionOf(config: object): string {
  const definition =
    definitions.get(config) ??
    JSON.stringify({ ...config, context: undefined }, (_key, value: unknown) =>
      typeof value === 'function' ? { type: value.name } : value,
    );
  definitions.set(config, definition);
  return definition;
}

type PlainSnapshot = Extract<StatelyInspectionEvent, { type: '@xstate.snapshot' }>['snapshot'];

/** Fields for people; children appear by name, because each is an actor itself. */
function plainSnapshot(snapshot: unknown): PlainSnapshot {
  const { status, value, context, output, error, tags, children } = (snapshot ?? {}) as Record<
    string,
    unknown
  >;
  const names = Object.keys(children ?? {}).slice(0, 100);
  const plain = {
    ...{ status: status ?? 'active', value: sanitise(value), context: sanitise(context) },
    ...{ output: sanitise(output), error: sanitise(error) },
    tags: tags instanceof Set ? [...(tags as Set<string>)] : [],
    children: Object.fromEntries(names.map((id) => [id, { xstate$$type: 1, id }])),
  };
  return plain as unknown as PlainSnapshot;
}

/** Text of a message; if it is too long, without its large parts. */
export function textOf(message: StatelyInspectionEvent): string {
  const text = JSON.stringify(message);
  if (text.length <= MESSAGE_MAX_LENGTH) return text;
  const cut = `[cut: ${text.length} characters]`;
  if (message.type === '@xstate.event') return JSON.stringify({ ...message, event: { type: cut } });
  const { status, value } = message.snapshot as { status?: unknown; value?: unknown };
  return JSON.stringify({ ...message, snapshot: { status, value, context: cut } });
}
