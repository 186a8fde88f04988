import { createHash } from 'node:crypto';

/** Shows the buttons for passkeys where the browser has the API, and submits what it returns. All else works without. */
export const SCRIPT = `for (const button of document.querySelectorAll('[data-passkey]')) {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) continue;
  button.form.hidden = false;
  let isReady = false;
  button.form.addEventListener('submit', async (event) => {
    if (isReady) return;
    event.preventDefault();
    const options = JSON.parse(button.dataset.options);
    try {
      const credential = button.dataset.passkey === 'create'
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      button.form.elements.response.value = JSON.stringify(credential.toJSON());
      isReady = true;
      button.form.requestSubmit(button);
    } catch {
      button.form.querySelector('[role=status]').textContent = 'The passkey was not used.';
    }
  });
}`;

/** The source expression of the script, for the policy of pages that have it. */
export const SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;
