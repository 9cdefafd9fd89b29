import { DEVICE_LOGIN_MS, DEVICE_LOGINS_MAX } from '../../../../domain/access.ts';
import type { DeviceLoginRepository, DevicePoll } from '../../access-port.ts';
import type { Database } from '../pool.ts';
import { ms } from '../sql.ts';
import { type As, named, selection, statement } from '../statement.ts';

const WAITING = selection({
  host: ['text', 'd.host'],
  address: ['text', 'd.address'],
  publicKey: ['bytea', 'd.public_key'],
  createdAtMs: ['float8', ms('d.created_at')],
});
const IS_WAITING = `d.state = 'waiting' AND d.expires_at > now()`;

export const statements = named('device-login', {
  add: statement({
    params: {
      ...{ deviceDigest: 'bytea', userDigest: 'bytea', host: 'text', address: 'text' },
      ...{ publicKey: 'bytea', forMs: 'float8', max: 'int8' },
    },
    columns: { added: 'bool' },
    text: ({ deviceDigest, userDigest, host, address, publicKey, forMs, max }) => `
      WITH over AS (DELETE FROM device_logins d WHERE d.expires_at <= now() - interval '1 hour')
      INSERT INTO device_logins
        (device_digest, user_digest, host, address, public_key, expires_at)
      SELECT ${deviceDigest}, ${userDigest}, ${host}, ${address}, ${publicKey},
        now() + ${forMs} * interval '1 millisecond'
      WHERE (SELECT count(*) FROM device_logins d WHERE d.expires_at > now()) < ${max}
      ON CONFLICT DO NOTHING RETURNING true AS added`,
  }),
  find: statement({
    params: { userDigest: 'bytea' },
    columns: WAITING.columns,
    text: ({ userDigest }) =>
      `SELECT ${WAITING.sql} FROM device_logins d
       WHERE d.user_digest = ${userDigest} AND ${IS_WAITING}`,
  }),
  /** Of several decisions the first one counts. */
  decide: statement({
    params: { userDigest: 'bytea', sealed: 'bytea?' },
    columns: { decided: 'bool' },
    text: ({ userDigest, sealed }) =>
      `UPDATE device_logins d SET sealed = ${sealed},
         state = CASE WHEN ${sealed} IS NULL THEN 'refused' ELSE 'granted' END
       WHERE d.user_digest = ${userDigest} AND ${IS_WAITING} RETURNING true AS decided`,
  }),
  /** Deleting is what makes the code good for once. */
  poll: statement({
    params: { deviceDigest: 'bytea' },
    columns: { outcome: 'text' as As<'text', DevicePoll['outcome']>, sealed: 'bytea?' },
    text: ({ deviceDigest }) => `
      WITH found AS (
        SELECT d.device_digest AS digest, d.state, d.sealed, d.expires_at <= now() AS is_over,
          coalesce(d.polled_at + d.interval_seconds * interval '1 second' > now(), false) AS is_soon
        FROM device_logins d WHERE d.device_digest = ${deviceDigest} FOR UPDATE
      ), answered AS (
        DELETE FROM device_logins d USING found f
        WHERE d.device_digest = f.digest AND (f.is_over OR f.state <> 'waiting')
      ), waits AS (
        UPDATE device_logins d SET polled_at = now(),
          interval_seconds = d.interval_seconds + CASE WHEN f.is_soon THEN 5 ELSE 0 END
        FROM found f
        WHERE d.device_digest = f.digest AND NOT f.is_over AND f.state = 'waiting'
      )
      SELECT CASE WHEN f.is_over THEN 'expired' WHEN f.state <> 'waiting' THEN f.state
          WHEN f.is_soon THEN 'soon' ELSE 'waiting' END AS outcome,
        CASE WHEN NOT f.is_over THEN f.sealed END AS sealed
      FROM found f`,
  }),
});

/** See `DeviceLoginRepository`. A token whose answer is in doubt is lost: the command logs in again. */
export const createDeviceLoginRepository = (db: Database): DeviceLoginRepository => ({
  add: async (login) => {
    const limits = { forMs: DEVICE_LOGIN_MS, max: DEVICE_LOGINS_MAX };
    const doing = { doing: 'add a login of a command' };
    return (await db.commit(doing, statements.add, { ...login, ...limits })).length > 0;
  },
  find: async (userDigest, signal) => {
    const doing = { doing: 'look up a login of a command', signal };
    return (await db.once(doing, statements.find, { userDigest }))[0] ?? null;
  },
  decide: async (userDigest, sealed) => {
    const doing = { doing: 'decide about a login of a command' };
    return (await db.commit(doing, statements.decide, { userDigest, sealed })).length > 0;
  },
  poll: async (deviceDigest) => {
    const doing = { doing: 'answer a login of a command' };
    return (await db.commit(doing, statements.poll, { deviceDigest }))[0] ?? null;
  },
});
