import {
  fromCallback,
  fromPromise,
  type ActorLogic,
  type AnyActorLogic,
  type AnyActorRef,
  type AnyStateMachine,
  type EventObject,
  type Snapshot,
} from 'xstate';

/** A child chart's state as its parent sees it. */
export interface ChildSnapshot {
  readonly value: unknown;
  readonly tags?: readonly string[];
}

/** `promise` settles once; `chart` also emits snapshots; `service` lasts until it throws. */
type ServiceKind = 'promise' | 'chart' | 'service';
/** How each service behaves. */
export type Scripts = Readonly<Record<string, ServiceKind>>;

/** A running service of a live actor, which waits for the test's instruction. */
export interface LiveService {
  done(output: unknown): void;
  fail(error: unknown): void;
  show(shown: ChildSnapshot): void;
}

/**
 * A chart's effect on its world: it calls a service with an input, stops a running service, does a
 * provided action with its params, or sends an event to a child.
 */
export type ChartEffect =
  | readonly ['calls', service: string, input: unknown]
  | readonly ['stops', service: string]
  | readonly ['does', action: string, params: unknown]
  | readonly ['tells', child: string, event: EventObject];

/** The called services and actions of one live actor. */
export interface ServiceStage {
  /** By the id of the child. */
  readonly live: Map<string, LiveService>;
  /** All effects of the chart, in order; services are named by their source. */
  readonly effects: ChartEffect[];
}

/** Where a chart's services report. A replay uses a fresh stage for each run. */
export interface Theatre {
  stage: ServiceStage;
}
export const createStage = (): ServiceStage => ({ live: new Map(), effects: [] });

type ShownSnapshot = Snapshot<unknown> & {
  readonly value: unknown;
  readonly tags: readonly string[];
  hasTag(tag: string): boolean;
};

/** A child chart's snapshot, as far as a parent may read it. */
export const shownSnapshot = ({ value, tags = [] }: ChildSnapshot): ShownSnapshot => ({
  status: 'active',
  output: undefined,
  error: undefined,
  value,
  tags,
  hasTag: (tag) => tags.includes(tag),
});

/** The chart with every service scripted and every unprovided action recorded. */
export function scripted(
  chart: AnyStateMachine,
  scripts: Scripts,
  actions: readonly string[],
  theatre: Theatre,
): AnyStateMachine {
  const actors = Object.entries(scripts).map(([src, kind]) => [
    src,
    scriptedService(src, kind, theatre),
  ]);
  const record = (name: string) => [
    name,
    (_: unknown, params: unknown) => void theatre.stage.effects.push(['does', name, params]),
  ];
  return chart.provide({
    actors: Object.fromEntries(actors) as never,
    actions: Object.fromEntries(actions.map(record)) as never,
  });
}

function scriptedService(src: string, kind: ServiceKind, theatre: Theatre): AnyActorLogic {
  if (kind === 'chart') return chartService(src, theatre);
  if (kind === 'service') return callbackService(src, theatre);
  return fromPromise(({ input, self, signal }) => {
    const { stage } = theatre;
    stage.effects.push(['calls', src, input]);
    return new Promise<unknown>((done, fail) => {
      let ended = false;
      const gone = () => {
        ended = true;
        stage.live.delete(self.id);
      };
      const stopped = () => {
        if (ended) return;
        stage.effects.push(['stops', src]);
        gone();
      };
      signal.addEventListener('abort', stopped, { once: true });
      stage.live.set(self.id, {
        done: (output) => (gone(), done(output)),
        fail: (error) => (gone(), fail(error)),
        show: () => {
          throw new Error(`"${src}" is a promise and shows nothing`);
        },
      });
    });
  });
}

/** XState does not dispose of a callback that threw, so a service cleans up before it throws. */
const callbackService = (src: string, theatre: Theatre): AnyActorLogic =>
  fromCallback(({ input, self, receive }) => {
    const { stage } = theatre;
    stage.effects.push(['calls', src, input]);
    receive((event) => {
      if (event.type !== 'script.fail') return;
      stage.live.delete(self.id);
      throw (event as unknown as { error: Error }).error;
    });
    stage.live.set(self.id, {
      done: unsupported(src),
      fail: (error) => (self as AnyActorRef).send({ type: 'script.fail', error }),
      show: unsupported(src),
    });
    return () => {
      if (stage.live.delete(self.id)) stage.effects.push(['stops', src]);
    };
  });

const unsupported = (src: string) => () => {
  throw new Error(`"${src}" is a service and never ends`);
};

type ScriptOrder =
  | { readonly type: 'script.show'; readonly shown: ChildSnapshot }
  | { readonly type: 'script.done'; readonly output: unknown }
  | { readonly type: 'script.fail'; readonly error: unknown };

/** Replaces an invoked chart: moves, ends and fails on command, and looks like a chart. */
function chartService(src: string, theatre: Theatre): AnyActorLogic {
  const logic: ActorLogic<ShownSnapshot & { input?: unknown }, EventObject, unknown> = {
    getInitialSnapshot: (_, input) => ({ ...shownSnapshot({ value: 'claiming' }), input }),
    getPersistedSnapshot: (snapshot) => snapshot,
    start: ({ input }, { self }) => {
      const { stage } = theatre;
      stage.effects.push(['calls', src, input]);
      const tell = (order: ScriptOrder) => (self as AnyActorRef).send(order);
      stage.live.set(self.id, {
        done: (output) => tell({ type: 'script.done', output }),
        fail: (error) => tell({ type: 'script.fail', error }),
        show: (shown) => tell({ type: 'script.show', shown }),
      });
    },
    transition: (snapshot, event, { self }) => {
      const { live, effects } = theatre.stage;
      const order = event as ScriptOrder | { readonly type: 'xstate.stop' };
      switch (order.type) {
        case 'script.show':
          return shownSnapshot(order.shown);
        case 'script.done':
          live.delete(self.id);
          return { ...snapshot, status: 'done', output: order.output } as ShownSnapshot;
        case 'script.fail':
          live.delete(self.id);
          return { ...snapshot, status: 'error', error: order.error } as ShownSnapshot;
        case 'xstate.stop':
          if (live.delete(self.id)) effects.push(['stops', src]);
          return { ...snapshot, status: 'stopped' } as ShownSnapshot;
        default:
          // It ignores events.
          return snapshot;
      }
    },
  };
  return logic as AnyActorLogic;
}
