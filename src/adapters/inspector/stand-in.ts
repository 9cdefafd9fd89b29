import type { ActorRefLike, AnyEventObject, InspectionEvent } from 'xstate';
import type { Actor } from './family.ts';
import { sanitise } from './sanitise.ts';

type InspectionOf<Type extends InspectionEvent['type']> = Extract<InspectionEvent, { type: Type }>;
export type StandIn = InspectionOf<'@xstate.actor' | '@xstate.snapshot' | '@xstate.event'>;

/** An actor that is shown, with what is known of it last. */
export interface Shown {
  readonly actor: Actor;
  readonly rootId: string;
  latest: { readonly snapshot: unknown; readonly event: AnyEventObject } | null;
}

/*
 * The inspector's library translates XState's own events, and would read the live actor while doing
 * so. It is given stand-ins: the same shape, with a sanitised copy of what may be seen.
 */

/** "There is this actor", with its statechart and its present state. */
export function actorStandIn({ actor, rootId, latest }: Shown): StandIn {
  const snapshot = plainSnapshot(latest?.snapshot ?? actor.getSnapshot());
  const actorRef = {
    id: actor.id ?? actor.sessionId,
    sessionId: actor.sessionId,
    _parent: actor._parent && { sessionId: actor._parent.sessionId },
    logic: { config: definitionOf(actor) },
    getSnapshot: () => snapshot,
  };
  return asInspection({ type: '@xstate.actor', rootId, actorRef });
}

/** "The actor is in this state now". */
export function snapshotStandIn({ actor, rootId, latest }: Shown): StandIn | null {
  if (!latest) return null;
  const snapshot = plainSnapshot(latest.snapshot);
  const event = sanitise(latest.event);
  const actorRef = { sessionId: actor.sessionId };
  return asInspection({ type: '@xstate.snapshot', rootId, actorRef, event, snapshot });
}

/** "The actor was sent this event". A sender that is not shown is left out. */
export function eventStandIn(
  event: InspectionOf<'@xstate.event'>,
  isShown: (actor: ActorRefLike) => boolean,
): StandIn {
  const { rootId, sourceRef } = event;
  return asInspection({
    type: '@xstate.event',
    rootId,
    actorRef: { sessionId: event.actorRef.sessionId },
    sourceRef: sourceRef && isShown(sourceRef) ? { sessionId: sourceRef.sessionId } : undefined,
    event: sanitise(event.event),
  });
}

/** The library declares whole actors and reads the few fields given here. */
const asInspection = (standIn: object) => standIn as unknown as StandIn;

/** A statechart is code and has no data but its first context, which is left out. */
function definitionOf({ logic }: Actor): object | undefined {
  const config: unknown = logic?.config;
  if (typeof config !== 'object' || config === null) return undefined;
  const definition = definitions.get(config) ?? { ...config, context: undefined };
  definitions.set(config, definition);
  return definition;
}
const definitions = new WeakMap<object, object>();

/** The fields a person looks at; children are named, since each is an actor of its own. */
function plainSnapshot(snapshot: unknown): object {
  const { status, value, context, output, error, tags, children } = (snapshot ?? {}) as Record<
    string,
    unknown
  >;
  const names = Object.keys(children ?? {}).slice(0, 100);
  return {
    status: status ?? 'active',
    value: sanitise(value),
    context: sanitise(context),
    output: sanitise(output),
    error: sanitise(error),
    tags: tags instanceof Set ? [...(tags as Set<string>)] : [],
    children: Object.fromEntries(names.map((id) => [id, { xstate$$type: 1, id }])),
  };
}
