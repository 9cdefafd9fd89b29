import type { PlayedDaemon } from '../../support/played-world.ts';
import { isAlive } from './facts.ts';
import { lasting, MINUTE, type SimulationRule } from './rule.ts';

/** Maximum number of a provider's concurrent creations, and the minimum time between two. */
const CREATIONS_MAX = 3;
const CREATIONS_APART_MS = 4_100;
/** Maximum share of a healthy daemon's claims that may collide with another daemon. */
const COLLISIONS_MAX = 0.3;

/** How daemons behave, alone and towards each other. */
export const DAEMONS: readonly SimulationRule[] = [
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
    watch: lasting(2 * MINUTE, function* ({ world, recorder, daemons }, atMs) {
      const { sessions } = world.bmdb.tables;
      for (const { name, played } of daemons()) {
        const isWell = atMs - recorder.steadySinceMs(name) > 2 * MINUTE;
        const own = [...sessions.values()].filter(
          ({ sessionId, deadlineMs }) => recorder.ownerOf(sessionId) === name && deadlineMs > atMs,
        );
        if (played?.isAlive && isWell && own.length !== 1) yield [name, `${own.length} sessions`];
      }
    }),
  },
  {
    id: 'one-provisioner',
    sentence: 'S1: creations are of the daemon that has the job, few at once, and spaced',
    watch({ world: { bmdb }, recorder }, say) {
      const running = new Set<object>();
      /** By daemon, because a daemon that takes over the job does not know the last creation. */
      const last = new Map<string, number>();
      return (step) => {
        if (step.kind === 'answer') running.delete(step.call);
        if (step.kind !== 'call') return;
        const { by, path } = step.call;
        // A creation begins with its intent: its request may arrive late, as may the intent of a
        // daemon in trouble.
        if (path === 'bmdb.session.intents.open') {
          const lastMs = last.get(by) ?? 0;
          const apartMs = step.atMs - lastMs;
          const isSpaced = apartMs >= CREATIONS_APART_MS || recorder.steadySinceMs(by) > lastMs;
          if (!isSpaced) say(`a creation by ${by} ${apartMs} ms after the last`);
          last.set(by, step.atMs);
        }
        if (path !== 'provider.createMachine') return;
        const isOurs = [...bmdb.tables.jobs.values()].some(
          ({ sessionId }) =>
            isAlive(bmdb.tables, sessionId, step.atMs) && recorder.ownerOf(sessionId) === by,
        );
        if (!isOurs) say(`a creation by ${by}, which holds no job`);
        running.add(step.call);
        if (running.size > CREATIONS_MAX) say(`${running.size} creations at once`);
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
    watch: lasting(MINUTE, function* ({ daemons }) {
      for (const { name, played } of daemons()) {
        if (!played?.isAlive) continue;
        const { entries, counts } = played.daemon.board;
        const shown = [...Map.groupBy(entries.values(), ({ state }) => state)];
        const seen = shown.map(([state, { length }]) => `${length} ${state}`).toSorted();
        const counted = Object.entries(counts()).filter(([, count]) => count > 0);
        const told = counted.map(([state, count]) => `${count} ${state}`).toSorted();
        if (seen.join() !== told.join()) yield [name, `${told.join()} are ${seen.join()}`];
      }
    }),
  },
];
