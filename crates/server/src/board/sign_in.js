// Keeps the anti-forgery token of a new session in the storage of this origin, which no page of
// another port can read, and opens the page that was asked for.
"use strict";

const { key, csrf, next } = document.getElementById("sign-in").dataset;

if (csrf) {
  try {
    localStorage.setItem(key, csrf);
  } finally {
    location.replace(next); // Without storage the pages can be read, and say what is missing.
  }
} else {
  // When another tab signs in, this one continues.
  addEventListener("storage", (event) => {
    if (event.key === key && event.newValue) location.replace(next);
  });
}
