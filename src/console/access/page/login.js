const told = document.getElementById('told');
const form = document.getElementById('form');
const field = document.getElementById('token');
const WHY = {
  away: 'The login of your organisation does not answer. Try again, or log in with a token.',
  refused: 'The login of your organisation was not in order; the log of the daemon tells why.',
  group: 'Your organisation knows you, but none of your groups may do anything here.',
  again: 'This login was begun elsewhere or too long ago, or was used before. Begin again.',
};

/** Keeps the secret that the page shows for changes, also for its other tabs. */
function keep(secret) {
  sessionStorage.setItem('shepherd-secret', secret);
  new BroadcastChannel('shepherd-secret').postMessage({ login: secret });
  const isForCommand = sessionStorage.getItem('shepherd-to') === 'device';
  sessionStorage.removeItem('shepherd-to');
  location.replace(isForCommand ? '/device' : '/');
}

/** Requests a session; the response sets its cookie. */
async function logIn(body) {
  told.textContent = '';
  try {
    const answer = await fetch('/api/v1/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answered = await answer.json();
    if (answer.ok) return keep(answered.secret);
    told.textContent = answered.detail;
  } catch {
    told.textContent = 'The console does not answer; try again.';
  }
}

// Survives the redirect to an organisation and back. Only this one page can be the target.
if (new URLSearchParams(location.search).get('to') === 'device') {
  sessionStorage.setItem('shepherd-to', 'device');
}
const { identities, open, secret } = document.querySelector('main').dataset;
// A browser that returns from an organisation is logged in already.
if (secret) keep(secret);
else welcome();

function welcome() {
  document.getElementById('identities').hidden = identities !== 'true';
  document.getElementById('open').hidden = open !== 'true';
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void logIn({ token: field.value.trim() });
  });
  const why = new URLSearchParams(location.search).get('told');
  if (why !== null && Object.hasOwn(WHY, why)) told.textContent = WHY[why];
  // Browsers send the part after # to nobody, and no log contains it.
  const code = location.hash.slice(1);
  if (code === '') return;
  history.replaceState(null, '', '/login');
  void logIn({ code });
}
