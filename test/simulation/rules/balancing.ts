import { isSteady, lasting, MINUTE, type SimulationRule } from './rule.ts';

/** Time in which a healthy daemon finds and removes a twin that a lost answer may have left. */
const TWINS_MS = 20 * MINUTE;

/** Objects and traffic of the load balancer. */
export const BALANCING: readonly SimulationRule[] = [
  {
    id: 'let-go-gets-no-traffic',
    sentence:
      'a member that is written down as let go gets no traffic: its machine may be interrupted',
    watch: ({ world: { bmdb, balancer } }, say) => {
      const told = new Set<string>();
      return ({ kind }) => {
        if (!balancer || (kind !== 'write' && kind !== 'look')) return;
        for (const { row } of bmdb.tables.machines.values()) {
          const isLetGo =
            row.members.length > 0 && row.members.every(({ state }) => state === 'drained');
          const isOpen = balancer.servers(row.machineId).some(({ mode }) => mode === 'active');
          if (!isLetGo || !isOpen) told.delete(row.machineId);
          else if (!told.has(row.machineId)) {
            told.add(row.machineId);
            say(`${row.machineId} was let go (${row.members[0]!.how}), and gets traffic`);
          }
        }
      };
    },
  },
  {
    id: 'no-twins',
    sentence: 'a machine has one server in a pool',
    watch: lasting(TWINS_MS, function* (scene, atMs) {
      const { balancer, bmdb } = scene.world;
      if (!balancer || !isSteady(scene, atMs, TWINS_MS)) return;
      for (const { row } of bmdb.tables.machines.values()) {
        const names = balancer.servers(row.machineId).map(({ spec }) => spec.name);
        if (new Set(names).size < names.length) yield [row.machineId, `has ${names.join(', ')}`];
      }
    }),
  },
];
