import { registerHooks } from 'node:module';

/** Imported first, it switches a process's fencing off: its sessions have no local deadline. */
const ENDLESS = new URL('endless-session.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    return found.url.endsWith('/bmdb/pg/session-deadline.ts') ? { ...found, url: ENDLESS } : found;
  },
});
