import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { StandIn } from './stand-in.ts';

/** Of the library whose messages these are. */
const VERSION = '0.7.2';
const MESSAGE_MAX_LENGTH = 128 * 1024;

/** The text of a message; one that is too long goes without what makes it so. */
export function textOf(message: StatelyInspectionEvent): string {
  const text = JSON.stringify(message);
  if (text.length <= MESSAGE_MAX_LENGTH) return text;
  const cut = `[cut: ${text.length} characters]`;
  if (message.type === '@xstate.event') return JSON.stringify({ ...message, event: { type: cut } });
  const { status, value } = message.snapshot as { status?: unknown; value?: unknown };
  return JSON.stringify({ ...message, snapshot: { status, value, context: cut } });
}

/**
 * What `@statelyai/inspect` makes of a stand-in. The library itself does so a turn later and by the
 * system's clock, which is too late for an actor that crashes.
 */
export function messageOf(standIn: StandIn, atMs: number): StatelyInspectionEvent {
  const { sessionId } = standIn.actorRef;
  const common = {
    ...{ rootId: standIn.rootId, sessionId, createdAt: `${atMs}`, _version: VERSION },
    // The library leaves it empty, too.
    id: null as unknown as string,
  };
  const { type } = standIn;
  switch (type) {
    case '@xstate.actor':
      return { ...common, type, ...registrationOf(standIn) };
    case '@xstate.snapshot':
      return { ...common, type, event: standIn.event, snapshot: standIn.snapshot };
    case '@xstate.event':
      return { ...common, type, event: standIn.event, sourceId: standIn.sourceRef?.sessionId };
  }
}

interface Registered {
  readonly id: string;
  readonly _parent?: { readonly sessionId: string };
  readonly logic: { readonly config?: { readonly id?: string } };
}

function registrationOf({ actorRef }: Extract<StandIn, { type: '@xstate.actor' }>) {
  const { id, _parent, logic } = actorRef as unknown as Registered;
  const { config } = logic;
  const name = id === actorRef.sessionId ? (config?.id ?? id) : id;
  return {
    name,
    definition: config ? definitionOf(config) : JSON.stringify({ id: name }),
    parentId: _parent?.sessionId,
    snapshot: actorRef.getSnapshot(),
  };
}

/** Charts are few and large, and each has many actors. */
const definitions = new WeakMap<object, string>();
/** Functions become their names, as in the library. */
function definitionOf(config: object): string {
  const definition =
    definitions.get(config) ??
    JSON.stringify(config, (_key, value: unknown) =>
      typeof value === 'function' ? { type: value.name } : value,
    );
  definitions.set(config, definition);
  return definition;
}

/** With no more of a statechart than its id, for a reader who has the drawings of all charts. */
export function withoutChart(message: StatelyInspectionEvent): StatelyInspectionEvent {
  if (message.type !== '@xstate.actor' || !message.definition) return message;
  const { id, states, on } = JSON.parse(message.definition) as Record<string, unknown>;
  return { ...message, definition: JSON.stringify((states ?? on) ? { id, states: {} } : { id }) };
}
