import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type pg from 'pg';

const run = promisify(execFile);

/** The tablespace of new rows of `work_history`. */
export interface SmallDisk {
  /** False: no disk could be mounted, so the server only simulates the errors of a full one. */
  readonly isReal: boolean;
  /** Also empties `work_history`. */
  fill(): Promise<void>;
  empty(): Promise<void>;
  /** After the server has stopped. */
  remove(): Promise<void>;
}

/** Moves the work history to a separate disk, which requires the right to mount one. */
export async function createSmallDisk(sql: pg.Pool): Promise<SmallDisk> {
  const root = await mkdtemp(path.join(tmpdir(), 'shepherd-disk-'));
  await chmod(root, 0o755);
  if (!(await mountAt(root))) {
    await rmdir(root);
    return pretendedDisk(sql);
  }
  const place = path.join(root, 'tablespace');
  await mkdir(place);
  await run('chown', ['postgres', place]);
  await sql.query(`CREATE TABLESPACE small LOCATION '${place}'`);
  await sql.query(`ALTER TABLE work_history SET TABLESPACE small`);
  const filler = path.join(root, 'filler');
  return {
    isReal: true,
    fill: async () => {
      // Deleted rows would leave free space in files already on the disk.
      await sql.query('TRUNCATE work_history');
      await writeUntilFull(filler);
    },
    empty: () => rm(filler, { force: true }),
    remove: async () => {
      await run('umount', [root]);
      await rmdir(root);
    },
  };
}

async function mountAt(root: string): Promise<boolean> {
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0755', 'small', root]);
    return true;
  } catch {
    return false; // No right to mount, or no such feature here.
  }
}

async function writeUntilFull(file: string): Promise<void> {
  const handle = await open(file, 'a');
  try {
    for (;;) await handle.write(Buffer.alloc(4_096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await handle.close();
  }
}

async function pretendedDisk(sql: pg.Pool): Promise<SmallDisk> {
  await sql.query(
    `CREATE FUNCTION say_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
       RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$`,
  );
  const drop = 'DROP TRIGGER IF EXISTS say_full ON work_history';
  return {
    isReal: false,
    fill: async () => {
      await sql.query(
        `CREATE TRIGGER say_full BEFORE INSERT ON work_history EXECUTE FUNCTION say_full()`,
      );
    },
    empty: async () => void (await sql.query(drop)),
    remove: () => Promise.resolve(),
  };
}
