import { startEquinixEmulator } from '../../../emulators/equinix/emulator.ts';

/** An Equinix emulator in its own process, for a test that kills it. Prints one JSON line. */
const emulator = await startEquinixEmulator({
  listen: { host: '127.0.0.1', port: 0 },
  profile: 'real',
  reservations: 20,
  stateFile: process.argv[2]!,
});
const { url, tokens, projectId } = emulator;
console.log(JSON.stringify({ url, token: tokens.user, projectId }));
