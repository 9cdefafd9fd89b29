import { mutationsOf } from './mutation.ts';

/** Login of a command by a code that a person confirms. */
export const mutations = mutationsOf`
src/adapters/bmdb/pg/access/device-logins.ts test/adapters/bmdb/pg/contract-requests.test.ts -t logins of commands
  an-expired-device-code-is-confirmed: d.state = 'waiting'[- AND d.expires_at > now()-]
  an-expired-device-code-is-granted: WHEN f.is_over{+ AND f.state = 'waiting'+} THEN 'expired' WHEN
  a-device-code-is-redeemed-twice: AND (f.is_over OR f.state [-<> 'waiting'-]{+= 'refused'+})
src/console/access/device-login.ts test/console/access/device.test.ts
  a-token-confirms-a-login: if (person.via !== 'cookie'{+ && person.via !== 'token'+}) {
  a-second-decision-leaves-a-token: \_\_[-await repository.tokens.revoke(id, person.name);-]
  a-login-gets-more-rights-than-the-person:
    [-requireWithin(person, { role, providers: person.providers });-]
`;
