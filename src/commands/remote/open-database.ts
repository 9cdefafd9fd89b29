import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { openCommandBmdb } from '../database.ts';
import type { DatabaseOptions } from '../db.ts';
import { openDatabaseDoor } from './database-door.ts';
import type { Door } from './door.ts';
import type { DoorMeans } from './open-door.ts';

/** The door past the console. @throws {UsageError} the configuration is wrong. */
export async function openDatabase(options: DatabaseOptions, means: DoorMeans): Promise<Door> {
  const { bmdb, config } = await openCommandBmdb(options);
  const { version, by } = means;
  const around = { clock: systemClock, random: systemRandom, where: options.file };
  const door = openDatabaseDoor({ bmdb, config, version, by, ...around });
  return {
    ...door,
    async close() {
      await door.close();
      await bmdb.close();
    },
  };
}
