import type { PlayedDaemon } from '../../support/played-world.ts';
import { isAlive } from './facts.ts';
import { changesOf, MINUTE, tooLong, type Rule } from './rule.ts';

/** Creations of a provider under way at once, and the least time between two. */
const CREATIONS_MAX = 3;
const CREATIONS_APART_MS = 4_100;
/** Of the claims that a daemon makes in peace, at least this share is its own to make. */
const COLLISIONS_MAX = 0.3;

/** How daemons fare, and how they get on with each other. */
export const DAEMONS: readonly Rule[] = [
  {
    id: 'nothing-crashes',
    sentence: 'Whatever the world does, no actor and no service of a daemon crashes',
    watch(scene, say) {
      const read = new WeakMap<PlayedDaemon, number>();
      return ({ kind }) => {
        if (kind !== 'look') return;
        for (const { name, played } of scene.daemons()) {
          if (!played) continue;
          const { lines } = played.log;
          for (const { level, message, fields } of lines.slice(read.get(played) ?? 0)) {
            if (level === 'error' && message.includes('crashed')) {
              say(`${name}: ${message} ${String(fields['err'] ?? '')}`);
            }
          }
          read.set(played, lines.length);
        }
      };
    },
  },
  {
    id: 'one-session-each',
    sentence: 'S4: a daemon keeps one session alive, and lets none expire while it is well',
    watch(scene, say) {
      const owners = new Map<string, string>();
      const wrong = tooLong(2 * MINUTE, say);
      return (step) => {
        for (const { sessionId, before, after } of changesOf(step, 'session')) {
          if (before === null && step.kind === 'write' && step.by) owners.set(sessionId, step.by);
          if (after === null) owners.delete(sessionId);
        }
        if (step.kind !== 'look') return;
        const { tables } = scene.world.bmdb;
        const now = new Map<string, string>();
        for (const { name, played } of scene.daemons()) {
          const isWell = step.atMs - scene.recorder.steadySinceMs(name) > 2 * MINUTE;
          const own = [...owners].filter(([, owner]) => owner === name);
          const live = own.filter(([id]) => isAlive(tables, id, step.atMs));
          if (played?.isAlive && isWell && live.length !== 1) {
            now.set(name, `has ${live.length} sessions of ${own.length}`);
          }
        }
        wrong(now, step.atMs);
      };
    },
  },
  {
    id: 'one-provisioner',
    sentence: 'S1: creations are of the daemon that has the job, few at once, and spaced',
    watch(scene, say) {
      const owners = new Map<string, string>();
      const running = new Set<object>();
      let lastAtMs = 0;
      return (step) => {
        for (const { sessionId, before } of changesOf(step, 'session')) {
          if (before === null && step.kind === 'write' && step.by) owners.set(sessionId, step.by);
        }
        if (step.kind === 'answer') running.delete(step.call);
        if (step.kind !== 'call' || step.call.path !== 'provider.createMachine') return;
        const { by } = step.call;
        const { tables } = scene.world.bmdb;
        const holders = [...tables.jobs.values()].filter(({ sessionId }) =>
          isAlive(tables, sessionId, step.atMs),
        );
        const isOurs = holders.some(({ sessionId }) => owners.get(sessionId) === by);
        if (!isOurs) say(`a creation by ${by}, which holds no job`);
        running.add(step.call);
        if (running.size > CREATIONS_MAX) say(`${running.size} creations at once`);
        if (step.atMs - lastAtMs < CREATIONS_APART_MS) {
          say(`a creation by ${by} ${step.atMs - lastAtMs} ms after the one before`);
        }
        lastAtMs = step.atMs;
      };
    },
  },
  {
    id: 'claims-rarely-collide',
    sentence: 'DESIGN 2.5: the daemon of the first rank claims, and the others wait',
    watch(scene, say) {
      let [made, lost] = [0, 0];
      return (step) => {
        if (step.kind === 'answer' && step.call.path === 'bmdb.session.claim') {
          const isCalm = step.atMs - scene.recorder.calmSinceMs() > 5 * MINUTE;
          made += Number(isCalm);
          lost += Number(isCalm && step.call.error === 'work-conflict');
        }
        if (step.kind === 'end' && made > 20 && lost > COLLISIONS_MAX * made) {
          say(`${lost} of ${made} claims came too late`);
        }
      };
    },
  },
  {
    id: 'counts-add-up',
    sentence: 'What a daemon counts is what it shows',
    watch: (scene, say) => {
      const wrong = tooLong(MINUTE, say);
      return ({ kind, atMs }) => {
        if (kind !== 'look') return;
        const found = new Map<string, string>();
        for (const { name, played } of scene.daemons()) {
          if (!played?.isAlive) continue;
          const { entries, counts } = played.daemon.board;
          const counted = counts();
          const states = Map.groupBy(entries.values(), ({ state }) => state);
          for (const [state, { length }] of states) {
            if (counted[state] !== length)
              found.set(`${name} ${state}`, `${counted[state]} are ${length}`);
          }
          const sum = Object.values(counted).reduce((total, each) => total + each, 0);
          if (sum !== entries.size) found.set(name, `counts ${sum} of ${entries.size} machines`);
        }
        wrong(found, atMs);
      };
    },
  },
];
