import { registerHooks } from 'node:module';

/**
 * Imported before everything else, it switches the fencing of a process off: sessions have no local
 * deadline there.
 */
const ENDLESS = new URL('endless-session.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return found.url.endsWith('/bmdb/pg/session-deadline.ts') ? { ...found, url: ENDLESS } : found;
  },
});
